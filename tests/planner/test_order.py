"""Orders of operators: against all topological orders of small graphs, and within bounds on large ones."""

from collections.abc import Iterator
from random import Random

from hypothesis import given, settings

from tests.support.graphs import GraphBuilder, graphs
from tests.support.steps import counted
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.verify import verify
from tinygen.planner.whole.order import best_order


def _orders(graph: Graph, done: tuple[Op, ...] = ()) -> Iterator[tuple[Op, ...]]:
    if len(done) == len(graph.ops):
        yield done
    known = {*graph.input_tensors, *(tensor for op in done for tensor in op.results)}
    for op in graph.ops:
        if op not in done and known.issuperset(op.variable_operands):
            yield from _orders(graph, (*done, op))


def _peak(graph: Graph, order: tuple[Op, ...]) -> int:
    """Most bytes of tensors that are there and still needed; a view of all bytes is the same memory."""
    whole: dict[Tensor, Tensor] = {}
    for op in graph.ops:
        for alias in op.aliases():
            if alias.part in op.results and alias.part.type.bytes == alias.whole.type.bytes:
                whole[alias.part] = whole.get(alias.whole, alias.whole)

    def memory(tensors: tuple[Tensor, ...]) -> set[Tensor]:
        return {whole.get(tensor, tensor) for tensor in tensors}

    outputs = memory(graph.output_tensors)
    live = memory(graph.input_tensors)
    unused = {t for t in live - outputs if not any(t in memory(op.operands) for op in order)}
    peak = sum(t.type.bytes for t in live)
    for index, op in enumerate(order):
        live |= memory(op.results)
        peak = max(peak, sum(t.type.bytes for t in live))
        needed = {t for later in order[index + 1 :] for t in memory(later.variable_operands)}
        live = live & (needed | outputs | unused)
    return peak


@given(graphs(max_ops=6))
@settings(max_examples=60)
def test_no_order_is_better(graph: Graph) -> None:
    best = best_order(graph)
    verify(best, "order")
    assert {*best.ops} == {*graph.ops}
    least = min(_peak(graph, order) for order in _orders(graph))
    assert _peak(best, best.ops) == least
    assert (best is graph) == (_peak(graph, graph.ops) == least)


def test_a_short_branch_runs_before_the_long_one() -> None:
    """Two branches from the input, of which one ends small: it goes first, and the graph stays as it is if it does."""
    build = GraphBuilder()
    image = build.input(1, 8, 8, 2)
    wide = build.conv(image, 32)
    small = build.fully_connected(build.conv(image, 16), 4)
    output = build.add(build.fully_connected(wide, 4), small)
    graph = build.graph(output)
    assert [op.name for op in best_order(graph).ops] == ["op0", "op3", "op1", "op2", "op4"]
    assert best_order(best_order(graph)).ops == best_order(graph).ops


def _parallel(branches: int) -> Graph:
    random = Random(0)
    build = GraphBuilder()
    image = build.input(1, 8, 8, 8)
    ends = [build.conv(build.conv(image, random.randrange(1, 20)), 4) for _ in range(branches)]
    total = ends[0]
    for end in ends[1:]:
        total = build.add(total, end)
    return build.graph(total)


def test_a_graph_that_is_too_wide_keeps_its_order_in_bounded_effort() -> None:
    graph = _parallel(34)
    assert len(graph.ops) == 101
    with counted(2_000_000):  # about 0.55 million
        assert best_order(graph) is graph
