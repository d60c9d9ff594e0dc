"""What a user reads when a model does not fit."""

from collections.abc import Iterator

import pytest

from tests.support.graphs import GraphBuilder
from tinygen import targets
from tinygen.errors import DoesNotFitError
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.window import HW
from tinygen.planner import fit
from tinygen.planner.fit import Remedy, check_fits, remedies
from tinygen.planner.memory.spill import arena_room
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Schedule

_VLDISCOVERY = targets.load("stm32vldiscovery")


def _graph() -> Graph:
    build = GraphBuilder()
    image = build.input(1, 20, 20, 4)
    return build.graph(build.conv(build.conv(image, 16, HW(3, 3)), 8))


def _large_input() -> Graph:
    build = GraphBuilder()
    image = build.input(1, 40, 40, 8)
    return build.graph(build.conv(build.conv(image, 8, HW(3, 3), HW(4, 4)), 4))


def _toolbox(board: targets.Board) -> Toolbox:
    return Toolbox(Library.CMSIS_NN, board.isa)


def _schedule(board: str = "stm32vldiscovery") -> Schedule:
    target = targets.load(board)
    return plan(_graph(), target, _toolbox(target))


def _message(schedule: Schedule, request: PlanRequest) -> str:
    """What a user reads whose limit is that of the request."""
    limit = request.limit_bytes
    assert limit is not None
    with pytest.raises(DoesNotFitError) as caught:
        check_fits(schedule, limit, schedule.board.flash_bytes, remedies(schedule, _toolbox(schedule.board), request))
    assert caught.value.exit_code == 4
    return str(caught.value)


def test_what_fits_passes_and_plans_nothing_else() -> None:
    def never() -> Iterator[Remedy]:
        yield pytest.fail("planned for nothing")

    schedule = _schedule()
    check_fits(schedule, schedule.arena_bytes, const_bytes(schedule), never())


def test_whole_tensors_that_are_too_large() -> None:
    room = arena_room(_VLDISCOVERY)
    request = PlanRequest(room, may_split=False)
    schedule = plan(_graph(), _VLDISCOVERY, _toolbox(_VLDISCOVERY), request)
    split = plan(_graph(), _VLDISCOVERY, _toolbox(_VLDISCOVERY), PlanRequest(room))
    both = plan(_graph(), _VLDISCOVERY, _toolbox(_VLDISCOVERY), PlanRequest(room, fetches_input=True))
    assert room == 6400
    assert max(split.arena_bytes, both.arena_bytes) <= room
    assert _message(schedule, request) == (
        "net for stm32vldiscovery: the arena needs 9600 bytes of RAM, 6400 are available without the stack.\n"
        "Peak: step 1, net, operator 1 (Conv2D), with 9600 bytes live:\n"
        "      6400 't0'\n"
        "      3200 't1'\n"
        "No placement of these buffers needs less than 9600 bytes.\n"
        "What helps:\n"
        f"  --split auto: {split.arena_bytes} bytes\n"
        f"  --split auto --input streamed: {both.arena_bytes} bytes\n"
        "  --target microbit: 14080 bytes of RAM beside the stack, 262144 bytes of flash, the same instruction set"
    )


def test_the_smallest_arena_that_is_too_large() -> None:
    board = targets.load("mps2-an385")
    streamed = plan(_large_input(), board, _toolbox(board), PlanRequest(0, fetches_input=True))
    request = PlanRequest(streamed.arena_bytes)
    schedule = plan(_large_input(), board, _toolbox(board), request)
    message = _message(schedule, request).splitlines()
    assert message[0] == (
        f"net for mps2-an385: the arena needs {schedule.arena_bytes} bytes of RAM, {streamed.arena_bytes} are "
        "available without the stack."
    )
    assert message[-4:] == [
        "What helps:",
        f"  --ram {schedule.arena_bytes}: mps2-an385 has {arena_room(board)} bytes beside the stack",
        f"  --input streamed: {streamed.arena_bytes} bytes",
        "  --target microbit: 14080 bytes of RAM beside the stack, 262144 bytes of flash, the same instruction set",
    ]


def test_options_that_are_not_enough_on_their_own() -> None:
    board = targets.load("mps2-an385")
    streamed = plan(_large_input(), board, _toolbox(board), PlanRequest(0, fetches_input=True))
    request = PlanRequest(streamed.arena_bytes - 1)
    schedule = plan(_large_input(), board, _toolbox(board), request)
    line = f"  --input streamed: {streamed.arena_bytes} bytes, which is less, but not enough"
    assert line in _message(schedule, request).splitlines()


def test_of_options_that_are_not_enough_only_the_closest_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[PlanRequest] = []

    def counted(graph: Graph, board: targets.Board, toolbox: Toolbox, request: PlanRequest) -> Schedule:
        planned.append(request)
        return plan(graph, board, toolbox, request)

    monkeypatch.setattr(fit, "plan", counted)
    board = targets.load("mps2-an385")
    request = PlanRequest(100, may_split=False)
    message = _message(plan(_large_input(), board, _toolbox(board), request), request)
    assert [(each.fetches_input, each.may_split) for each in planned] == [(True, True)]
    assert "which is less, but not enough" in message


def test_where_nothing_helps() -> None:
    build = GraphBuilder()
    graph = build.graph(build.fully_connected(build.input(1, 5_000_000), 1))
    request = PlanRequest(arena_room(_VLDISCOVERY), fetches_input=True)
    message = _message(plan(graph, _VLDISCOVERY, _toolbox(_VLDISCOVERY), request), request)
    assert message.splitlines()[-2:] == [
        "No placement of these buffers needs less than 5000001 bytes.",
        "Use a smaller model.",
    ]


def test_a_peak_of_many_buffers_lists_the_largest() -> None:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 4)
    branches = [build.conv(image, 4 + index) for index in range(12)]
    schedule = plan(build.graph(*branches), _VLDISCOVERY, _toolbox(_VLDISCOVERY))
    with pytest.raises(DoesNotFitError) as caught:
        check_fits(schedule, 100, 1 << 20)
    lines = str(caught.value).splitlines()
    peak = [line for line in lines if line.startswith("    ")]
    assert len(peak) == 9
    assert peak[0] == "       960 't11'"
    assert peak[-1].endswith(" smaller ones")
    total = int(lines[1].rsplit("with ", 1)[1].split()[0])
    assert sum(int(line.split()[0]) for line in peak) == total


def test_constants_that_are_too_large() -> None:
    schedule = _schedule()
    needed = const_bytes(schedule)
    with pytest.raises(DoesNotFitError) as caught:
        check_fits(schedule, schedule.arena_bytes, 100)
    assert str(caught.value) == (
        f"net for stm32vldiscovery: weights and other constants need {needed} bytes of flash, 100 are available.\n"
        "What helps:\n"
        f"  --flash {needed}: stm32vldiscovery has 131072 bytes; the code needs room, too\n"
        "  --target microbit: 14080 bytes of RAM beside the stack, 262144 bytes of flash, the same instruction set"
    )
