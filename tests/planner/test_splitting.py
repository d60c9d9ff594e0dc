"""Split schedules of random networks: any segmentation computes what whole tensors give, in the planned bytes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, evaluate, images, random_inputs
from tinygen import targets
from tinygen.ir.graph import Graph, Op
from tinygen.ir.rows import every_row, part_of
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding
from tinygen.ops.windowed import Convolution
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, chain_of, sliced_chain_of, strip_chains
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import (
    Call,
    Crop,
    Fetch,
    FlatStep,
    Fused,
    Loop,
    Schedule,
    Shift,
    Store,
    Strips,
    unrolled,
)
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.split import split

_BOARDS = [targets.load(name) for name in ("mps2-an386", "mps3-an547", "mps2-an385")]
_toolboxes = st.builds(
    lambda board, library: (board, Toolbox(library, board.isa, Objective.RAM)),
    st.sampled_from(_BOARDS),
    st.sampled_from(Library),
)


def _network(
    graph: Graph, toolbox: Toolbox, fetches_input: bool, rereads_input: bool = False, stores_output: bool = False
) -> Network:
    kernels: dict[Op, Kernel] = {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}
    return Network.of(graph, kernels, fetches_input, rereads_input, stores_output)


@st.composite
def _segmentations(draw: st.DrawFn, network: Network) -> tuple[Segment, ...]:
    """Any cuts, directions, rows per call, and slices of channels."""
    segments: list[Segment] = []
    while (first := segments[-1].end if segments else 0) < len(network.calls):
        ends = [end for end in range(first + 2, len(network.calls) + 1) if sliced_chain_of(network, first, end)]
        takes_slices = draw(st.booleans())
        if ends and takes_slices:
            segments.append(Segment(first, draw(st.sampled_from(ends)), slices=draw(st.integers(2, 7))))
            continue
        longest = first
        while longest < len(network.calls) and network.calls[longest] in network.row_wise:
            longest += 1
        if longest == first or draw(st.integers(0, 3)) == 0:
            segments.append(Segment(first, first + 1))
            continue
        end = draw(st.integers(first + 1, longest))
        ops = network.calls[first:end]
        fetches = any(t in network.fetched for op in ops for t in op.variable_operands)
        stores = any(t in network.stored and every_row(t).count > 1 for op in ops for t in op.results)
        descending = not fetches and not stores and draw(st.booleans())
        segments.append(_draw_chain(draw, network, first, end, descending))
    return tuple(segments)


def _draw_chain(draw: st.DrawFn, network: Network, first: int, end: int, descending: bool) -> Segment:
    """A chain of row calls, in strips of columns where that is possible and drawn."""
    strips = draw(st.integers(1, 4))
    segment = Segment(first, end, 1, descending, strips=strips)
    if strips > 1 and strip_chains(network, chain_of(network, segment, 1), strips):
        return segment
    return replace(segment, rows_per_call=draw(st.integers(1, 3)), strips=1)


@given(st.data(), st.one_of(images(), bottlenecks()), _toolboxes, st.booleans(), st.booleans())
@settings(max_examples=700)
def test_s2_10_any_segmentation_computes_what_whole_tensors_give(
    data: st.DataObject, graph: Graph, chosen: tuple[targets.Board, Toolbox], fetches_input: bool, stores_output: bool
) -> None:
    board, toolbox = chosen
    network = _network(graph, toolbox, fetches_input, fetches_input and data.draw(st.booleans()), stores_output)
    segments = data.draw(_segmentations(network))
    for blocks in Findings(network, toolbox).memory(segments).blocks.values():
        assert len({block.bytes for block in blocks}) == 1, "a ring takes as much memory whenever it moves its rows"
    schedule = split(network, segments, board, toolbox)
    _assert_right(schedule)
    for loop in _loops(schedule):
        _assert_affine(schedule, loop)
    for strips in _strips(schedule):
        _assert_equal(strips)


@given(
    st.one_of(images(max_ops=6), bottlenecks()), _toolboxes, st.sampled_from(Objective), st.booleans(), st.booleans()
)
@settings(max_examples=90)
def test_the_chosen_plan_is_right_and_no_larger_than_whole_tensors(
    graph: Graph,
    chosen: tuple[targets.Board, Toolbox],
    objective: Objective,
    fetches_input: bool,
    stores_output: bool,
) -> None:
    board, toolbox = chosen[0], replace(chosen[1], objective=objective)
    request = PlanRequest(
        fetches_input=fetches_input,
        rereads_input=fetches_input,
        extra_macs=graph.macs // 2,
        stores_output=stores_output,
    )
    small = plan(graph, board, toolbox, request)
    done = sum(call.op.macs for call in small.calls if isinstance(call.whole, Convolution))
    assert done <= sum(op.macs for op in graph.ops if isinstance(op, Convolution)) + request.extra_macs
    _assert_right(small)
    whole = plan(graph, board, toolbox, PlanRequest(may_split=False))
    given = plan(graph, board, toolbox, replace(request, may_split=False))
    _assert_right(given)
    assert small.arena_bytes <= given.arena_bytes <= whole.arena_bytes


def test_a_result_that_is_given_away_is_not_held_as_a_slice() -> None:
    """It is given away by rows, for which all its channels must be there."""
    build = GraphBuilder()
    image = build.input(1, 1, 1, 4)
    result = build.add(image, image)
    scores = build.fully_connected(result, 3)
    toolbox = Toolbox(Library.CMSIS_NN, _BOARDS[0].isa, Objective.RAM)
    for outputs, holds in (((scores,), True), ((scores, result), False)):
        network = _network(build.graph(*outputs), toolbox, fetches_input=False, stores_output=True)
        assert (sliced_chain_of(network, 0, 2) is not None) == holds


def test_chains_whose_buffers_are_aligned_are_no_larger_than_whole_tensors() -> None:
    """Rows of 3 bytes leave holes that no bound knows of."""
    build = GraphBuilder()
    image = build.input(1, 2, 4, 1)
    chosen = build.gather(image, 2, [0, 0, 0, 0])
    narrow = build.conv(chosen, 1, HW(1, 2), padding=NO_PADDING)
    build.concat([image, chosen], axis=1)
    graph = build.graph(build.pool(MaxPool2D, narrow, UNIT, UNIT))
    toolbox = Toolbox(Library.CMSIS_NN, _BOARDS[0].isa, Objective.RAM)
    request = PlanRequest(stores_output=True)
    small, whole = (plan(graph, _BOARDS[0], toolbox, replace(request, may_split=split)) for split in (True, False))
    assert small.arena_bytes <= whole.arena_bytes


def test_a_fetched_input_that_a_later_segment_reads_by_a_view() -> None:
    build = GraphBuilder()
    build.input(1, 3, 1, 1)
    image = build.input(1, 3, 1, 1)
    build.prelu(image)
    part = build.slice(image, 1, 1, 2)
    request = PlanRequest(fetches_input=True, rereads_input=True)
    board = _BOARDS[0]
    toolbox = Toolbox(Library.CMSIS_NN, board.isa, Objective.RAM)
    _assert_right(plan(build.graph(build.add(part, part)), board, toolbox, request))


def test_strips_of_which_one_takes_all_columns_and_the_next_some_of_them() -> None:
    build = GraphBuilder()
    image = build.input(1, 1, 2, 1)
    all_columns = build.conv(image, 2, UNIT)
    result = build.conv(all_columns, 1, HW(1, 2), padding=Padding(0, 0, 0, 1))
    toolbox = Toolbox(Library.CMSIS_NN, _BOARDS[0].isa, Objective.RAM)
    network = _network(build.graph(result), toolbox, fetches_input=True, rereads_input=True)
    schedule = split(network, (Segment(0, 2, 1, strips=2),), _BOARDS[0], toolbox)
    names = {result.name for call in schedule.calls for result in call.op.results}
    assert all_columns.name in names
    assert any(piece.whole is all_columns for piece in schedule.pieces.values())
    _assert_right(schedule)


def _assert_right(schedule: Schedule) -> None:
    """The checker agrees, the bound holds, and the interpreter, between guard zones, gives the references' values."""
    check(schedule, limit_bytes=schedule.arena_bytes)
    assert schedule.lower_bound_bytes <= schedule.arena_bytes
    graph = schedule.graph
    inputs = random_inputs(graph, seed=1)
    expected = evaluate(graph, inputs)
    views = set(graph.ops) - {call.whole for call in schedule.calls}

    def observe(op: Op, results: tuple[Array, ...]) -> None:
        if op in views:  # nobody may read them: their bytes may hold something else by now
            return
        for tensor, value in zip(op.results, results, strict=True):
            part = schedule.pieces.get(tensor)
            if part is None and tensor in expected:
                np.testing.assert_array_equal(value, expected[tensor], err_msg=tensor.name)
            elif part is not None and part.whole in expected:
                np.testing.assert_array_equal(value, part_of(expected[part.whole], part), tensor.name)

    for tensor, value in zip(graph.output_tensors, interpret(schedule, inputs, observe), strict=True):
        np.testing.assert_array_equal(value, expected[tensor], err_msg=tensor.name)


def _strips(schedule: Schedule) -> Iterator[Strips]:
    for step in schedule.steps:
        if isinstance(step, Fused):
            yield from (inner for inner in step.steps if isinstance(inner, Strips))


def _loops(schedule: Schedule) -> Iterator[Loop]:
    for step in schedule.steps:
        if isinstance(step, Fused):
            yield from (inner for inner in step.steps if isinstance(inner, Loop))
    for strips in _strips(schedule):
        yield from (inner for strip in strips.iterations for inner in strip if isinstance(inner, Loop))


def _assert_equal(strips: Strips) -> None:
    """What the one function says of all strips: the same functions of the same operators on the same buffers."""
    for strip in strips.iterations:
        assert len(strip) == len(strips.iterations[0])
        for first, step in zip(strips.iterations[0], strip, strict=True):
            assert type(step) is type(first)
            if isinstance(step, Loop) and isinstance(first, Loop):
                assert len(step.iterations) == len(first.iterations)
                pairs = zip(unrolled(first), unrolled(step), strict=True)
                _assert_equal(Strips(tuple(zip(*pairs, strict=True))))
            elif isinstance(step, Call) and isinstance(first, Call):
                assert (step.whole, step.kernel.runner, step.scratch) == (
                    first.whole,
                    first.kernel.runner,
                    first.scratch,
                )


def _assert_affine(schedule: Schedule, loop: Loop) -> None:
    """Written once with the first iteration's numbers plus iteration times distance, a loop is its steps."""
    first, second = loop.iterations[:2]
    for count, iteration in enumerate(loop.iterations):
        for start, then, step in zip(first, second, iteration, strict=True):
            numbers, next_numbers = _numbers(schedule, start), _numbers(schedule, then)
            expected = tuple(a + count * (b - a) for a, b in zip(numbers, next_numbers, strict=True))
            assert _numbers(schedule, step) == expected
            assert _fixed(step) == _fixed(start)


def _numbers(schedule: Schedule, step: FlatStep) -> tuple[int, ...]:
    match step:
        case Call():
            tensors = (*step.kernel.reads, *step.kernel.writes)
            addresses = (schedule.address(tensor) for tensor in tensors if not tensor.is_constant)
            return (*addresses, *(table.part for table in step.kernel.tables))
        case Fetch() | Store():
            return schedule.address(step.piece.tensor), step.piece.rows.first, step.piece.rows.count
        case Crop():
            return schedule.address(step.source.tensor), schedule.address(step.target.tensor)
        case Shift():
            return step.source, step.target, step.bytes


def _fixed(step: FlatStep) -> tuple[object, ...]:
    """What the one call in the loop's body says: of a kernel all but the tensors it touches, and the parts of tables
    that it takes."""
    match step:
        case Call():
            kernel = replace(step.kernel, reads=(), writes=(), updates=(), in_place=())
            tables = tuple((table.stored.values.tobytes(), table.values.size) for table in kernel.tables)
            fields = {name: value for name, value in vars(kernel).items() if name != "tables"}
            return (type(kernel), tables, step.scratch, tuple(fields.items()))
        case Fetch() | Store():
            return step.port, step.piece.columns
        case Crop():
            return (step.target.tensor.type.bytes,)
        case Shift():
            return (step.buffer,)
