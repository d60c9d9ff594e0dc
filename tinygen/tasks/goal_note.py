"""The line that says what the plans beside a balanced one on the curve would give."""

from collections.abc import Iterator

from tinygen.kernels.base import Objective
from tinygen.pipeline import Compiled
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.schedule.constants import const_bytes
from tinygen.tasks.listener import Listener


def note_goal(compiled: Compiled, listener: Listener) -> None:
    """What the fastest plan, and the next smaller one that is known, take beside a balanced one."""
    if listener.takes_notes and compiled.options.objective is Objective.BALANCED:
        own = f"plan: balanced, arena {compiled.schedule.arena_bytes:,} bytes"
        listener.note("; ".join((own, *_beside(compiled))))


def _beside(compiled: Compiled) -> Iterator[str]:
    own = estimated_instructions(compiled.schedule, compiled.library)
    schedule, library = compiled.planned_for(Objective.TIME)
    saved = 1 - estimated_instructions(schedule, library) / max(own, 1)
    if saved > 0:
        grown = const_bytes(schedule) - const_bytes(compiled.schedule)
        constants = f", constants {grown:+,} bytes" if grown else ""
        yield f"-O time: {schedule.arena_bytes:,} for {saved:.1%} fewer instructions{constants}"
    else:
        yield "-O time is no faster"
    if compiled.smaller is None:
        yield "nothing smaller is known"
    else:
        more = compiled.smaller.instructions / max(own, 1) - 1
        yield f"--ram {compiled.smaller.bytes}: {compiled.smaller.bytes:,} for {more:.1%} more instructions"
