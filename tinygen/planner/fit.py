"""Whether a schedule fits a machine; if not, what stands in the way and what would help."""

from collections.abc import Iterator

from tinygen import targets
from tinygen.errors import DoesNotFitError
from tinygen.planner.constants import const_bytes
from tinygen.planner.schedule import Call, Schedule
from tinygen.targets.board import Board


def arena_room(board: Board) -> int:
    """Bytes of main RAM that the stack leaves."""
    return board.ram_bytes - board.stack_bytes


def check_fits(schedule: Schedule, ram_bytes: int, flash_bytes: int) -> None:
    """Raise DoesNotFitError where the arena exceeds `ram_bytes` or the constant tables exceed `flash_bytes`.

    `ram_bytes` is what the arena may take, without the stack. Code and the program's own data are not counted: the
    linker has the last word.
    """
    if schedule.arena_bytes > ram_bytes:
        raise DoesNotFitError("\n".join(_arena_too_large(schedule, ram_bytes)))
    if const_bytes(schedule) > flash_bytes:
        raise DoesNotFitError("\n".join(_tables_too_large(schedule, flash_bytes)))


def _arena_too_large(schedule: Schedule, ram_bytes: int) -> Iterator[str]:
    yield (
        f"{_where(schedule)}: the arena needs {schedule.arena_bytes} bytes of RAM, {ram_bytes} are available "
        "without the stack."
    )
    yield from _peak(schedule)
    yield f"No placement of the buffers needs less than {schedule.lower_bound_bytes} bytes."
    yield _remedy(schedule, is_limited_by_option=ram_bytes < schedule.arena_bytes <= arena_room(schedule.board))


def _tables_too_large(schedule: Schedule, flash_bytes: int) -> Iterator[str]:
    yield (
        f"{_where(schedule)}: weights and other constants need {const_bytes(schedule)} bytes of flash, "
        f"{flash_bytes} are available."
    )
    limited = flash_bytes < const_bytes(schedule) <= schedule.board.flash_bytes
    yield _remedy(schedule, is_limited_by_option=limited)


def _where(schedule: Schedule) -> str:
    return f"{schedule.graph.name} for {schedule.board.name}"


def _peak(schedule: Schedule) -> Iterator[str]:
    step = schedule.peak_step
    yield f"Peak: {_place(schedule, step)}, with {schedule.live_bytes(step)} bytes live:"
    for buffer in sorted(schedule.live_buffers(step), key=lambda buffer: -buffer.bytes):
        yield f"  {buffer.bytes:>8} '{buffer.name}'"


def _place(schedule: Schedule, step: int) -> str:
    """The step, and the operator in the user's file that it belongs to."""
    for found in schedule.flat_steps[step : step + 1]:
        if isinstance(found, Call):
            return f"step {step}, {found.whole.source}"
    return f"step {step}"


def _remedy(schedule: Schedule, is_limited_by_option: bool) -> str:
    boards = ", ".join(board.name for board in _larger_boards(schedule))
    remedies = [
        "raise the limit, the board has more" if is_limited_by_option else "",
        "use a smaller model",
        f"choose a board with the same instruction set that holds it: {boards}" if boards else "",
    ]
    text = ", or ".join(remedy for remedy in remedies if remedy)
    return f"{text[0].upper()}{text[1:]}."


def _larger_boards(schedule: Schedule) -> Iterator[Board]:
    """Boards with room for arena and tables. Only those of the same instruction set: scratch depends on it."""
    for board in map(targets.load, targets.names()):
        fits = schedule.arena_bytes <= arena_room(board) and const_bytes(schedule) <= board.flash_bytes
        if fits and board.isa is schedule.board.isa and board.name != schedule.board.name:
            yield board
