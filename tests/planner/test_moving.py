"""When rings move their rows: whatever each of them does, every call finds the rows that it takes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, images
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.ir.rows import every_row, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import has_kernel, select
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW, UNIT, Padding
from tinygen.planner.chains.demand import (
    Compute,
    FetchRows,
    Moving,
    RowStep,
    ShiftRows,
    StoreRows,
    Touch,
    Wait,
)
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import (
    Segment,
    bound_of,
    chain_of,
    choices_of,
    memory_of,
    passing_bytes,
    still_steps,
    strips_of_steps,
)
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.placement import arena_bytes, place
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.search.edges import EdgeFinder
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import KernelFinder

_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.PORTABLE, _M4.isa, Objective.RAM)
_WAYS = list(Moving)
_LEAD = 16  # of two pixels of 8 channels, the byte that is written last: 15, and words are aligned


def _network(graph: Graph, fetches_input: bool = True, stores_output: bool = False) -> Network:
    kernels = {op: select(op, _TOOLBOX) for op in graph.ops if has_kernel(op)}
    return Network.of(graph, kernels, fetches_input, stores_output=stores_output)


@st.composite
def _chains(draw: st.DrawFn, network: Network) -> Segment | None:
    """Any calls that run row by row, with some rows per call; None where there are none."""
    first = draw(st.integers(0, max(0, len(network.calls) - 1)))
    end = first
    while end < len(network.calls) and network.calls[end] in network.row_wise:
        end += 1
    return Segment(first, draw(st.integers(first + 1, end)), draw(st.integers(1, 3))) if end > first else None


@given(st.data(), st.one_of(images(), bottlenecks()), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_calls_find_their_rows(data: st.DataObject, graph: Graph, fetches_input: bool, stores_output: bool) -> None:
    network = _network(graph, fetches_input, stores_output)
    segment = data.draw(_chains(network))
    if segment is None:
        return
    held = chain_of(network, segment, segment.rows_per_call or 1).held
    moving = {tensor: data.draw(st.sampled_from(_WAYS)) for tensor in sorted(held, key=lambda tensor: tensor.name)}
    (steps,) = strips_of_steps(network, segment, moving)
    _assert_found(steps, held)


def _assert_found(steps: list[RowStep], held: frozenset[Tensor]) -> None:
    """Every step reads, of what is held, the rows that it takes where they were written or moved last."""
    rows: dict[Tensor, dict[int, int]] = {tensor: {} for tensor in held}  # by tensor, what lies at which offset
    for step in steps:
        if isinstance(step, ShiftRows):
            (source,), (target,) = step.reads, step.writes
            moved = [rows[step.tensor][at] for at in _offsets(source)]
            rows[step.tensor].update(zip(_offsets(target), moved, strict=True))
            continue
        if isinstance(step, Compute):
            for tensor, touch in zip(step.op.variable_operands, step.reads, strict=True):
                if tensor in held:
                    needed = step.op.rows_needed(tensor, step.rows)
                    assert needed is not None
                    assert [rows[tensor].get(at) for at in _offsets(touch)] == list(range(needed.first, needed.end))
        if isinstance(step, StoreRows) and step.tensor in held:
            (touch,) = step.reads
            assert [rows[step.tensor].get(at) for at in _offsets(touch)] == list(range(step.rows.first, step.rows.end))
        for touch in step.writes:
            if touch.key in held:
                written = step.rows if isinstance(step, Compute | FetchRows) else every_row(touch.key)
                rows[touch.key].update(zip(_offsets(touch), range(written.first, written.end), strict=True))


def _offsets(touch: Touch) -> range:
    """Where the rows of a touch lie."""
    return range(touch.offset, touch.offset + touch.bytes, row_bytes(touch.key))


@given(st.data(), st.one_of(images(), bottlenecks()))
@settings(max_examples=150)
def test_choices_differ_in_moves_alone(data: st.DataObject, graph: Graph) -> None:
    network = _network(graph)
    segment = data.draw(_chains(network))
    if segment is None:
        return
    choices = choices_of(network, segment)
    assert len(choices) == len(Moving)
    assert len({len(steps) for steps in choices}) == 1
    for moment in zip(*choices, strict=True):
        assert len({_what(step) for step in moment}) == 1


def _what(step: RowStep) -> object:
    if isinstance(step, ShiftRows | Wait):
        return "moves or waits"
    return type(step), getattr(step, "op", None), getattr(step, "rows", None)


@given(st.data(), st.one_of(images(), bottlenecks()))
@settings(max_examples=150)
def test_no_choice_takes_less_than_the_bound(data: st.DataObject, graph: Graph) -> None:
    network = _network(graph)
    segment = data.draw(_chains(network))
    if segment is not None:
        _assert_bound(network, segment)


def _assert_bound(network: Network, segment: Segment) -> None:
    bound = bound_of(network, segment, still_steps(network, segment)).bound_bytes
    memory = memory_of(network, segment, choices_of(network, segment))
    assert bound <= memory.bound_bytes
    assert bound <= arena_bytes(place(list(memory.placed_first.values()), memory.in_place, Effort.FAIR))


def test_rows_that_a_slow_reader_skips_bound_nothing() -> None:
    """They move with others where a ring moves them at once, and never where it does so late."""
    build = GraphBuilder()
    image = build.input(1, 9, 8, 8)
    fast = build.pool(AveragePool2D, image, HW(9, 8), HW(9, 8))
    for channels in (150, 150, 2):
        fast = build.conv(fast, channels)
    slow = build.conv(image, 2, UNIT, HW(9, 8))
    network = _network(build.graph(build.add(fast, slow)), stores_output=True)
    _assert_bound(network, Segment(0, len(network.calls), 1))


def test_rows_that_nobody_reads_bound_nothing() -> None:
    build = GraphBuilder()
    sparse = build.conv(build.input(1, 5, 4, 16), 4, UNIT, HW(3, 1))
    network = _network(build.graph(build.conv(sparse, 1, HW(2, 1))), fetches_input=False)
    _assert_bound(network, Segment(0, 2, 1))


def test_room_for_padding_makes_no_ring_larger() -> None:
    """Two readers, of which the one that begins takes more rows than the one with padding above."""
    build = GraphBuilder()
    value = build.conv(build.input(1, 5, 2, 2), 2)
    tall = build.conv(value, 2, HW(5, 1), padding=Padding(0, 4, 0, 0))
    network = _network(build.graph(build.add(tall, build.conv(value, 2, HW(3, 1), padding=Padding(1, 1, 0, 0)))))
    memory = memory_of(network, Segment(0, 4, 1), choices_of(network, Segment(0, 4, 1)))
    assert [{block.bytes for block in blocks} for blocks in memory.blocks.values()][1] == {20}


def _convolutions(count: int) -> Graph:
    build = GraphBuilder()
    value = build.input(1, 16, 16, 8)
    for _ in range(count):
        value = build.conv(value, 8, HW(3, 3))
    return build.graph(value)


@pytest.mark.parametrize("count", [2, 4, 6])
def test_convolutions_hold_two_rows_each_and_one_more_together(count: int) -> None:
    """What a convolution computes lies over the row that it reads for the last time, and is the newest row of the next
    ring, until all have moved theirs: without rows in turn each pair of rings has a third row."""
    graph = _convolutions(count)
    request = PlanRequest(fetches_input=True, stores_output=True, slack=0)
    schedule = plan(graph, _M4, _TOOLBOX, request)
    check(schedule)
    row = row_bytes(graph.inputs[0].tensor)
    assert schedule.arena_bytes == (2 * count + 1) * row + count * _LEAD


@pytest.mark.parametrize("count", [2, 4, 6])
def test_an_edge_is_bounded_by_no_more_than_its_placement(count: int) -> None:
    """Otherwise a search ends before it has looked at what is smaller: rows that moved at once would take another."""
    network, segment = _network(_convolutions(count), stores_output=True), Segment(0, count, 1)
    found = Findings(network, _TOOLBOX)
    edge = EdgeFinder(found, KernelFinder(found)).bounded(segment)[0]
    memory = found.memory_alone(edge.segment)
    placed = arena_bytes(place(list(memory.placed_first.values()), memory.in_place, Effort.FAIR))
    assert edge.bytes <= placed + passing_bytes(network, segment)
