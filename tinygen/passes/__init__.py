"""Passes: functions from Graph to Graph, run in one explicit order, verified after each."""

from collections.abc import Callable, Sequence

from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify

Pass = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = ()


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
