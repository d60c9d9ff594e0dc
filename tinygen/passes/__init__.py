"""Passes: functions from Graph to Graph, run in one explicit order, verified after each."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.verify import verify
from tinygen.ops.control import ControlFlow
from tinygen.passes.convert_boundaries import convert_boundaries
from tinygen.passes.copy_outputs import copy_outputs
from tinygen.passes.fold_constants import fold_constants
from tinygen.passes.fold_padding import fold_padding
from tinygen.passes.fold_scales import fold_scales
from tinygen.passes.fuse_clamps import fuse_clamps
from tinygen.passes.fuse_readers import fuse_readers
from tinygen.passes.fuse_sums import fuse_sums
from tinygen.passes.move_transposes import move_transposes
from tinygen.passes.refuse_float import refuse_float
from tinygen.passes.remove_reshapes import remove_reshapes
from tinygen.passes.remove_unused import remove_unused
from tinygen.passes.shrink import shrink
from tinygen.passes.tabulate import tabulate, tabulate_real

Pass = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (
    fold_constants,
    convert_boundaries,
    tabulate_real,
    refuse_float,
    move_transposes,
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
    """The graph after all passes; `observe` sees the name of each pass that changed something, and its result.

    Subgraphs come first, and keep the types of their inputs and outputs.
    """
    graph = _with_subgraphs(graph, tuple(step for step in passes if step is not convert_boundaries))
    for step in passes:
        name = step.__name__
        rewritten = step(graph)
        if rewritten is graph:
            continue  # as it was verified before
        verify(rewritten, name)
        if observe:
            observe(name, rewritten)
        graph = rewritten
    return graph


def _with_subgraphs(graph: Graph, passes: Sequence[Pass]) -> Graph:
    """The graph with its subgraphs after all passes."""
    changed: dict[Op, Op] = {op: _with_own_subgraphs(op, passes) for op in graph.ops if isinstance(op, ControlFlow)}
    if not changed:
        return graph
    whole = replace(graph, ops=tuple(changed.get(op, op) for op in graph.ops))
    verify(whole, "subgraphs")
    return whole


def _with_own_subgraphs(op: ControlFlow, passes: Sequence[Pass]) -> Op:
    return op.with_subgraphs([replace(subgraph, graph=run(subgraph.graph, passes)) for subgraph in op.subgraphs])
