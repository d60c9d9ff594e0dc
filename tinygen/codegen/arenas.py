"""The arenas of a model in the words of the templates: one for each memory that is used."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinygen.planner.schedule.schedule import Buffer, FlatStep, Schedule


@dataclass(frozen=True)
class ArenaText:
    """One arena."""

    symbol: str  # of pointers to its first byte
    memory: str
    bytes: int
    section: str | None  # that its static memory needs; None where it may lie as all data does

    @property
    def macro(self) -> str:
        """Stem of its macros, without the model's name."""
        return self.symbol.upper()


def arena_texts(schedule: Schedule) -> list[ArenaText]:
    """All arenas, the fastest memory first."""
    main = schedule.board.main_ram
    return [
        ArenaText(
            symbol=_symbol(schedule, arena.memory.name),
            memory=arena.memory.name,
            bytes=arena.bytes,
            section=None if arena.memory == main else f".tg_arena.{arena.memory.name}",
        )
        for arena in schedule.arenas
    ]


def arena_symbol(schedule: Schedule, buffer: Buffer) -> str:
    """C name of a pointer to the first byte of the arena that a buffer lies in."""
    return _symbol(schedule, schedule.memory(buffer).name)


def touched_arenas(schedule: Schedule, steps: Iterable[FlatStep]) -> list[str]:
    """C names of the arenas that some steps use."""
    touched = {arena_symbol(schedule, buffer) for step in steps for buffer in schedule.touched(step)}
    return [arena.symbol for arena in arena_texts(schedule) if arena.symbol in touched]


def _symbol(schedule: Schedule, memory: str) -> str:
    """The first arena is the only one of most models, and needs no further name."""
    return "arena" if memory == schedule.arenas[0].memory.name else f"arena_{memory}"
