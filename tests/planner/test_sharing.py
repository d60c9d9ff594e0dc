"""Which tensors share memory, told by what is still called, and proven by running the plan."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.random_graphs import GraphBuilder, random_graph
from tests.support.reference import evaluate
from tests.support.steps import lines_run
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.select import select
from tinygen.passes.copy_outputs import copy_outputs
from tinygen.planner.memory import sharing
from tinygen.planner.memory.placement import place
from tinygen.planner.plan import plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.whole.layout import lay_out
from tinygen.targets import load
from tinygen.targets.isa import Isa

Build = Callable[[GraphBuilder], Graph]
TOOLBOX = Toolbox(Library.PORTABLE, Isa.SCALAR)


def _two_parts(builder: GraphBuilder) -> tuple[Tensor, Tensor]:
    """Two results of calls."""
    x = builder.input(2, 6)
    return builder.add(x, x), builder.add(x, builder.input(2, 6))


def _concat(builder: GraphBuilder) -> Graph:
    first, second = _two_parts(builder)
    return builder.finish(builder.concat(0, first, second))


def _concat_inside(builder: GraphBuilder) -> Graph:
    first, second = _two_parts(builder)
    return builder.finish(builder.concat(1, first, second))


def _nested(builder: GraphBuilder) -> Graph:
    first, second = _two_parts(builder)
    inner = builder.concat(0, first, second)
    return builder.finish(builder.concat(0, builder.add(inner, inner), inner))


def _packed(builder: GraphBuilder) -> Graph:
    first, second = _two_parts(builder)
    return builder.finish(builder.concat(0, builder.reshape(first, 1, 2, 6), builder.reshape(second, 1, 2, 6)))


def _part_is_an_input_and_an_output(builder: GraphBuilder) -> Graph:
    x = builder.input(2, 6)
    y = builder.add(x, x)
    return builder.finish(builder.concat(0, x, y), y, x)


def _same_part_twice(builder: GraphBuilder) -> Graph:
    first, _ = _two_parts(builder)
    return builder.finish(builder.concat(0, first, first))


def _part_of_two(builder: GraphBuilder) -> Graph:
    first, second = _two_parts(builder)
    return builder.finish(builder.concat(0, first, second), builder.concat(0, second, first))


def _constant_part(builder: GraphBuilder) -> Graph:
    first, _ = _two_parts(builder)
    return builder.finish(builder.concat(0, first, builder.constant(np.random.default_rng(0), 2, 6)))


def _part_is_a_piece(builder: GraphBuilder) -> Graph:
    """The rest of `first` would lie where `second` goes."""
    first, second = _two_parts(builder)
    return builder.finish(builder.concat(0, builder.slice(first, (0, 0), (1, 6)), second), first)


def _pieces_of_pieces(builder: GraphBuilder) -> Graph:
    first, _ = _two_parts(builder)
    row = builder.slice(builder.reshape(first, 4, 3), (1, 0), (2, 3))
    return builder.finish(builder.slice(builder.reshape(row, 3, 2), (1, 0), (1, 2)))


def _piece_outlives_what_is_overwritten(builder: GraphBuilder) -> Graph:
    """`first` must not be overwritten by its last reader: the piece is read afterwards."""
    first, _ = _two_parts(builder)
    piece = builder.slice(first, (0, 0), (1, 6))
    total = builder.add(first, first)
    return builder.finish(builder.add(piece, piece), total)


def _operand_is_a_piece_of_the_other(builder: GraphBuilder) -> Graph:
    """In place over `first`, the first row would be gone when the second one is added to it."""
    first, _ = _two_parts(builder)
    return builder.finish(builder.add(first, builder.slice(first, (0, 0), (1, 6))))


def _whole_of_pieces_in_order(builder: GraphBuilder) -> Graph:
    first, _ = _two_parts(builder)
    rows = [builder.slice(first, (row, 0), (1, 6)) for row in range(2)]
    return builder.finish(builder.concat(0, *rows))


CASES: dict[str, tuple[Build, int]] = {
    # how it is built, and how many operators are called
    "concat": (_concat, 2),
    "concat inside rows": (_concat_inside, 3),
    "nested": (_nested, 3),
    "packed": (_packed, 2),
    "part is an input and an output": (_part_is_an_input_and_an_output, 1),
    "same part twice": (_same_part_twice, 2 + 1),
    "part of two": (_part_of_two, 2 + 1),
    "constant part": (_constant_part, 2 + 1),
    "part is a piece": (_part_is_a_piece, 2 + 1),
    "pieces of pieces": (_pieces_of_pieces, 2),
    "piece outlives what is overwritten": (_piece_outlives_what_is_overwritten, 4),
    "operand is a piece of the other": (_operand_is_a_piece_of_the_other, 3),
    "whole of pieces in order": (_whole_of_pieces_in_order, 2 + 1),
}


@pytest.mark.parametrize("case", CASES)
def test_views_are_taken_exactly_where_memory_can_be_shared(case: str) -> None:
    build, calls = CASES[case]
    graph = build(GraphBuilder())
    schedule = _without_search(graph)
    _assert_right(schedule)
    assert len(schedule.calls) == calls


def _sum_of_parts(builder: GraphBuilder) -> Graph:
    return builder.finish(builder.add(*_two_parts(builder)))


@pytest.mark.parametrize(
    ("build", "is_overwritten"),
    [(_sum_of_parts, True), (_operand_is_a_piece_of_the_other, False), (_piece_outlives_what_is_overwritten, False)],
)
def test_an_operand_is_overwritten_only_where_nobody_reads_it_any_more(build: Build, is_overwritten: bool) -> None:
    schedule = _without_search(build(GraphBuilder()))
    call = schedule.calls[2]
    operands = {schedule.address(tensor) for tensor in call.op.operands}
    assert (schedule.address(call.op.results[0]) in operands) == is_overwritten


@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 200, 50)], ids=str)
def test_random_graphs_run_in_shared_memory(seeds: range) -> None:
    for seed in seeds:
        graph = copy_outputs(random_graph(seed))
        _assert_right(_without_search(graph))
        _assert_right(plan(graph, load("host"), TOOLBOX))


def _without_search(graph: Graph) -> Schedule:
    """Every view that is allowed, in the order of the graph."""
    layout = lay_out(graph, {op: select(op, TOOLBOX) for op in graph.ops})
    placed = place([(block,) for block in layout.blocks.values()])
    offsets = {buffer: placed[block] for buffer, block in layout.blocks.items()}
    bound = layout.lower_bound_bytes
    return Schedule(graph, load("host"), layout.calls, layout.buffers, layout.places, offsets, bound)


def _assert_right(schedule: Schedule) -> None:
    rng = np.random.default_rng(1)
    inputs = [rng.integers(-128, 128, tensor.shape, np.int8) for tensor in schedule.graph.input_tensors]
    for output, want in zip(interpret(schedule, inputs), evaluate(schedule.graph, inputs), strict=True):
        np.testing.assert_array_equal(output, want, err_msg=str(schedule.graph))


def _chain_of_views(builder: GraphBuilder, length: int) -> Tensor:
    x = builder.copy(builder.input(2, 6))
    for turn in range(length):
        x = builder.reshape(x, *((3, 4), (2, 6))[turn % 2])
    return x


def _chain_in_place(builder: GraphBuilder, length: int) -> Tensor:
    x = builder.copy(builder.input(2, 6))
    for _ in range(length):
        x = builder.add(x, x)
    return x


def _chain_of_wholes(builder: GraphBuilder, length: int) -> Tensor:
    x, row = builder.copy(builder.input(1, 6)), builder.input(1, 6)
    for _ in range(length):
        x = builder.concat(0, x, builder.copy(row))
    return x


def _chain_of_pieces(builder: GraphBuilder, length: int) -> Tensor:
    x = builder.copy(builder.input(length + 1, 6))
    for rows in range(length, 0, -1):
        x = builder.slice(x, (1, 0), (rows, 6))
    return x


def _chain_that_is_refused(builder: GraphBuilder, length: int) -> Tensor:
    """Views of views; at each of them a concatenation that starts to share memory and then cannot."""
    x = builder.copy(builder.input(2, 6))
    for turn in range(length):
        x = builder.reshape(x, *((3, 4), (2, 6))[turn % 2])
        other = builder.copy(x)
        builder.concat(0, other, x, x)
    return x


@pytest.mark.parametrize(
    "chain", [_chain_of_views, _chain_in_place, _chain_of_wholes, _chain_of_pieces, _chain_that_is_refused]
)
def test_work_grows_with_the_length_of_chains(chain: Callable[[GraphBuilder, int], Tensor]) -> None:
    def work(length: int) -> int:
        builder = GraphBuilder()
        graph = builder.finish(chain(builder, length))
        kernels = {op: select(op, TOOLBOX) for op in graph.ops}
        return lines_run(lambda: lay_out(graph, kernels), sharing)

    assert work(400) < 2.3 * work(200)
