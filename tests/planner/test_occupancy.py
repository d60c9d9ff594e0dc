"""What is live when: never two things at one address, never less than the solver's own bound, and all that is read."""

from itertools import combinations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, graphs
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.memory.block import live_bytes
from tinygen.planner.memory.occupancy import occupancy
from tinygen.planner.plan import plan
from tinygen.planner.schedule.schedule import BufferKind, Schedule

_M4 = targets.load("mps2-an386")


def _plan(graph: Graph, objective: Objective, library: Library = Library.CMSIS_NN) -> Schedule:
    return plan(graph, _M4, Toolbox(library, _M4.isa, objective))


@given(graphs(max_ops=10), st.sampled_from([Objective.TIME, Objective.RAM]), st.sampled_from(Library))
@settings(max_examples=50)
def test_live_parts_never_overlap(graph: Graph, objective: Objective, library: Library) -> None:
    read = {tensor for op in graph.ops if not op.aliases() for tensor in op.variable_operands}
    assume(read.issuperset(graph.input_tensors))
    _assert_apart(_plan(graph, objective, library))


def test_a_result_over_its_operand_holds_no_byte_twice() -> None:
    """A row and a pixel of 6 x 6 pixels of 16 channels stand out; beside it, both tensors are whole."""
    build = GraphBuilder()
    graph = build.graph(build.depthwise(build.input(1, 6, 6, 16)))
    over, apart = (_plan(graph, goal, Library.PORTABLE) for goal in (Objective.RAM, Objective.TIME))
    _assert_apart(over)
    assert occupancy(over).peak_bytes == over.arena_bytes == (36 + 7) * 16
    assert occupancy(apart).peak_bytes == apart.arena_bytes == 2 * 36 * 16


def _assert_apart(schedule: Schedule) -> None:
    found = occupancy(schedule)
    parts = [
        (schedule.offsets[buffer] + part.offset, part.bytes, part.live)
        for buffer, block in found.blocks.items()
        for part in block.parts
    ]
    for (first, first_bytes, first_live), (second, second_bytes, second_live) in combinations(parts, 2):
        if first < second + second_bytes and second < first + first_bytes:
            assert not first_live & second_live
    assert len(found.levels) == 2 * max(1, len(schedule.flat_steps))
    assert max(found.peak_bytes, schedule.lower_bound_bytes) <= schedule.arena_bytes
    if not schedule.is_interleaved:  # a ring that shifts late may hold more than the one that the bound allows for
        assert found.peak_bytes <= schedule.lower_bound_bytes
    for step in {0, found.peak_step}:
        live = found.at(step)
        assert sum(one.bytes for one in live) == max(found.levels[2 * step : 2 * step + 2])
        assert {one.buffer for one in live} <= set(schedule.live_buffers(step))


def test_rows_that_nobody_reads_are_written_over_at_once() -> None:
    """Every other row of the input: the first result lies where such a row was."""
    build = GraphBuilder()
    value = build.conv(build.input(1, 5, 6, 6), 6, stride=HW(2, 2))
    end = build.conv(value, 3, HW(2, 2))
    build.slice(value, 2, 1, 1)
    schedule = _plan(build.graph(build.add(end, end), end), Objective.RAM)
    _assert_apart(schedule)


def test_whole_tensors() -> None:
    build = GraphBuilder()
    image = build.input(1, 20, 20, 4)
    schedule = _plan(build.graph(build.conv(build.conv(image, 16, HW(3, 3)), 8)), Objective.TIME)
    found = occupancy(schedule)
    scratch = sum(buffer.bytes for buffer in schedule.live_buffers(0) if buffer.kind is BufferKind.SCRATCH)
    assert found.levels == (1600 + 6400 + scratch, 6400 + scratch, 6400 + 3200, 3200)
    assert (found.peak_step, found.peak_bytes) == (1, 9600)
    assert [(one.buffer.name, one.bytes) for one in found.at(1)] == [("t0", 6400), ("t1", 3200)]


def test_rows_free_an_input_and_fill_an_output() -> None:
    build = GraphBuilder()
    tensor = build.input(1, 40, 8, 4)
    for _ in range(3):
        tensor = build.conv(tensor, 4, HW(3, 3))
    schedule = _plan(build.graph(tensor), Objective.RAM)
    found = occupancy(schedule)
    blocks = {buffer.name: block for buffer, block in found.blocks.items()}
    image, result = (live_bytes([blocks[name]]) for name in ("in0", "t2"))
    assert image[0] == result[-1] == 40 * 8 * 4
    assert image == sorted(image, reverse=True) and len(set(image)) > 30
    assert result == sorted(result) and len(set(result)) > 30
    assert found.peak_bytes == schedule.lower_bound_bytes < 2 * 40 * 8 * 4
