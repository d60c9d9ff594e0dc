"""Passes: functions from Graph to Graph, run in one explicit order, verified after each."""

from collections.abc import Callable, Sequence

from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.passes.convert_boundaries import convert_boundaries
from tinygen.passes.copy_outputs import copy_outputs
from tinygen.passes.fold_constants import fold_constants
from tinygen.passes.fold_padding import fold_padding
from tinygen.passes.fold_scales import fold_scales
from tinygen.passes.fuse_clamps import fuse_clamps
from tinygen.passes.fuse_readers import fuse_readers
from tinygen.passes.fuse_sums import fuse_sums
from tinygen.passes.refuse_float import refuse_float
from tinygen.passes.remove_reshapes import remove_reshapes
from tinygen.passes.remove_unused import remove_unused
from tinygen.passes.shrink import shrink
from tinygen.passes.tabulate import tabulate

Pass = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (
    fold_constants,
    convert_boundaries,
    refuse_float,
    fold_scales,
    fold_padding,
    fuse_sums,
    fuse_clamps,
    tabulate,
    remove_reshapes,
    remove_unused,
    shrink,
    fuse_readers,
    copy_outputs,
)

FLOAT_PASSES: tuple[Pass, ...] = tuple(step for step in PASSES if step is not refuse_float)  # float32 may remain


def run(graph: Graph, passes: Sequence[Pass] = PASSES, observe: Callable[[str, Graph], None] | None = None) -> Graph:
    """The graph after all passes; `observe` sees the name of each pass that changed something, and its result."""
    for step in passes:
        name = step.__name__
        rewritten = step(graph)
        verify(rewritten, name)
        if observe and rewritten is not graph:
            observe(name, rewritten)
        graph = rewritten
    return graph
