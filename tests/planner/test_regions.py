"""Schedules in several memories: where the fastest is too small, buffers lie in slower ones, the busy ones last."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.boards import with_ram
from tests.support.graphs import GraphBuilder, evaluate, graphs, random_inputs
from tinygen import targets
from tinygen.errors import DoesNotFitError, VerifyError
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW
from tinygen.planner.fit import check_fits, room_bytes
from tinygen.planner.memory.spill import arena_room, rooms
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Buffer, Schedule
from tinygen.targets import Board

_BOARDS = [targets.load(name) for name in ("mps2-an386", "mps3-an547")]
_M4 = _BOARDS[0]
_FLASH_BYTES = 1 << 20


def _with_room(board: Board, fast: int, slow: int) -> Board:
    """The board with so many bytes for arenas."""
    overhead = board.ram_bytes - rooms(board)[board.main_ram]
    return with_ram(board, overhead + fast, slow)


def _plan(graph: Graph, board: Board, library: Library = Library.CMSIS_NN, may_split: bool = False) -> Schedule:
    return plan(graph, board, Toolbox(library, board.isa), PlanRequest(arena_room(board), may_split))


def _buffer(schedule: Schedule, name: str) -> Buffer:
    return next(buffer for buffer in schedule.buffers if buffer.name == name)


def _net() -> Graph:
    """`idle` is read once, at the end, `busy` five times; each has 400 bytes."""
    build = GraphBuilder()
    image = build.input(1, 10, 10, 4)
    idle = build.conv(image, 4)
    busy = build.conv(image, 4)
    corners = [build.pool(MaxPool2D, busy, HW(n, n), HW(10, 10)) for n in (1, 2, 3, 4)]
    return build.graph(build.concat(corners, axis=3), build.add(idle, busy))


@given(
    graphs(max_ops=12),
    st.sampled_from(_BOARDS),
    st.sampled_from(Library),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=150)
def test_random_graphs(
    graph: Graph, board: Board, library: Library, share: float, may_split: bool, has_room: bool
) -> None:
    whole = _plan(graph, board, library)
    assert len(whole.arenas) == 1 and not whole.spilled
    fast = int(share * whole.arena_bytes)
    small = _with_room(board, fast, (2 if has_room else 1) * max(whole.arena_bytes - fast, 64))
    schedule = _plan(graph, small, library, may_split)
    if schedule.spilled or schedule.arena_bytes <= fast:
        sizes = {arena.memory: arena.bytes for arena in schedule.arenas}
        assert all(size <= rooms(small)[memory] for memory, size in sizes.items())
        check_fits(schedule, room_bytes(schedule), _FLASH_BYTES)
    else:
        assert not has_room or share > 0.4  # then the slow memory alone holds everything
    inputs = random_inputs(graph, seed=1)
    values = evaluate(graph, inputs)
    for tensor, actual in zip(graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(actual, values[tensor])


def test_busy_buffers_lie_in_fast_memory() -> None:
    graph = _net()
    schedule = _plan(graph, _with_room(_M4, 450, 4096), Library.PORTABLE)
    slow = {buffer.name for buffer in schedule.spilled}
    assert {"in0", "t0"} <= slow and "t1" not in slow  # image and idle, not busy
    assert {memory.name for memory in schedule.spilled.values()} == {"psram"}
    assert [arena.memory.name for arena in schedule.arenas] == ["ssram23", "psram"]
    assert schedule.arena_bytes == sum(arena.bytes for arena in schedule.arenas)


def test_fast_memory_that_holds_nothing() -> None:
    schedule = _plan(_net(), _with_room(_M4, 0, 4096))
    assert [arena.memory.name for arena in schedule.arenas] == ["psram"]


def test_what_fits_stays_in_main_ram() -> None:
    whole = _plan(_net(), _M4)
    schedule = _plan(_net(), _with_room(_M4, whole.arena_bytes, 4096))
    assert not schedule.spilled and schedule.arena_bytes == whole.arena_bytes


def test_rows_are_preferred_to_slow_memory() -> None:
    """A network that fits into the fastest memory when it is split leaves the others alone."""
    build = GraphBuilder()
    image = build.input(1, 40, 10, 1)
    wide = build.conv(image, 16, HW(3, 3))
    graph = build.graph(build.pool(MaxPool2D, wide, HW(4, 4), HW(4, 4)))
    small = _with_room(_M4, 2500, 1 << 16)
    whole = _plan(graph, small, Library.PORTABLE, may_split=False)
    split = _plan(graph, small, Library.PORTABLE, may_split=True)
    assert whole.spilled and not split.spilled and split.arena_bytes <= 2500


def test_a_limit_holds_for_all_memories() -> None:
    board = _with_room(_M4, 450, 4096)
    request = PlanRequest(limit_bytes=400, may_split=False)
    schedule = plan(_net(), board, Toolbox(Library.PORTABLE, board.isa), request)
    assert not schedule.spilled and schedule.arena_bytes > 400


def test_a_message_names_the_memories() -> None:
    schedule = _plan(_net(), _with_room(_M4, 300, 200))
    with pytest.raises(DoesNotFitError) as caught:
        check_fits(schedule, room_bytes(schedule), _FLASH_BYTES)
    first, second, *_ = str(caught.value).splitlines()
    assert first == (
        f"net for mps2-an386: the arena needs {schedule.arena_bytes} bytes of RAM, 300 are available without the stack."
    )
    assert second == "Nor do its buffers fit when they are spread over 300 bytes of ssram23 and 200 bytes of psram."


def test_the_checker_knows_memories() -> None:
    schedule = _plan(_net(), _with_room(_M4, 450, 4096), Library.PORTABLE)
    image, idle = _buffer(schedule, "in0"), _buffer(schedule, "t0")
    psram = schedule.memory(idle)
    moved = {**schedule.offsets, image: schedule.offsets[idle]}
    with pytest.raises(VerifyError, match=r"buffers 'in0' and 't0' share bytes \d+ to \d+ and are both live"):
        check(replace(schedule, offsets=moved))
    unknown = psram.model_copy(update={"name": "dram"})
    with pytest.raises(VerifyError, match="buffer 't0' lies in memory 'dram', which mps2-an386 does not have"):
        check(replace(schedule, spilled={**schedule.spilled, idle: unknown}))
    with pytest.raises(VerifyError, match=r"share bytes \d+ to \d+"):
        check(replace(schedule, spilled={}))


def test_the_interpreter_guards_every_arena() -> None:
    schedule = _plan(_net(), _with_room(_M4, 450, 4096), Library.PORTABLE)
    slow = schedule.arenas[1]
    short = replace(schedule, offsets={**schedule.offsets, _buffer(schedule, "t0"): slow.bytes - 399})
    object.__setattr__(short, "arenas", schedule.arenas)  # too small by a byte
    with pytest.raises(VerifyError, match="wrote outside of the arena"):
        interpret(short, random_inputs(schedule.graph, seed=1))
