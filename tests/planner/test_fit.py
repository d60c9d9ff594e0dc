"""What a user reads when a model does not fit."""

import pytest

from tests.support.graphs import GraphBuilder
from tinygen import targets
from tinygen.errors import DoesNotFitError
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.constants import const_bytes
from tinygen.planner.fit import arena_room, check_fits
from tinygen.planner.plan import plan
from tinygen.planner.schedule import Schedule


def _schedule(board: str = "stm32vldiscovery") -> Schedule:
    build = GraphBuilder()
    image = build.input(1, 20, 20, 4)
    build.conv(build.conv(image, 16, HW(3, 3)), 8)
    target = targets.load(board)
    return plan(build.graph(build.ops[-1].results[0]), target, Toolbox(Library.CMSIS_NN, target.isa))


def test_what_fits_passes() -> None:
    schedule = _schedule()
    check_fits(schedule, schedule.arena_bytes, const_bytes(schedule))


def test_an_arena_that_is_too_large() -> None:
    schedule = _schedule()
    room = arena_room(schedule.board)
    with pytest.raises(DoesNotFitError) as caught:
        check_fits(schedule, room, schedule.board.flash_bytes)
    assert str(caught.value) == (
        f"net for stm32vldiscovery: the arena needs 9600 bytes of RAM, {room} are available without the stack.\n"
        "Peak: step 1, net, operator 1 (Conv2D), with 9600 bytes live:\n"
        "      6400 't0'\n"
        "      3200 't1'\n"
        "No placement of the buffers needs less than 9600 bytes.\n"
        "Use a smaller model, or choose a board with the same instruction set that holds it: lm3s6965evb, microbit, "
        "mps2-an382, mps2-an383, mps2-an385."
    )
    assert caught.value.exit_code == 4


def test_a_limit_below_what_the_board_has() -> None:
    schedule = _schedule("mps2-an385")
    with pytest.raises(DoesNotFitError, match=r"Raise the limit, the board has more, or use a smaller model, or"):
        check_fits(schedule, 1000, schedule.board.flash_bytes)


def test_constants_that_are_too_large() -> None:
    schedule = _schedule()
    needed = const_bytes(schedule)
    with pytest.raises(
        DoesNotFitError,
        match=f"net for stm32vldiscovery: weights and other constants need {needed} bytes of flash, 100 are available",
    ):
        check_fits(schedule, schedule.arena_bytes, 100)
