"""Streams in the words of the templates: what is kept from call to call, and how it moves on."""

from dataclasses import dataclass

from tinygen.codegen.arenas import arena_symbol
from tinygen.ir.stream import State, Stream
from tinygen.planner.schedule.schedule import Schedule


@dataclass(frozen=True)
class StateText:
    """Bytes that are kept."""

    arena: str  # C name of a pointer to the arena that they lie in
    offset: int  # from the start of that arena
    bytes: int
    fill: int  # of each byte, before the first call

    @property
    def pointer(self) -> str:
        """Their first byte, from a context."""
        base = f"context->{self.arena}"
        return f"{base} + {self.offset}" if self.offset else base


@dataclass(frozen=True)
class StreamText:
    """How a model is called that takes a signal part by part."""

    stream: Stream
    states: list[StateText]

    @property
    def signal(self) -> str:
        """What one call takes, for a comment."""
        count = self.stream.columns
        return f"the next {count} columns" if count > 1 else "the next column"


def stream_text(schedule: Schedule) -> StreamText | None:
    """The stream of a schedule; None where it has none."""
    stream = schedule.graph.stream
    return StreamText(stream, [_state(schedule, state) for state in stream.states]) if stream else None


def _state(schedule: Schedule, state: State) -> StateText:
    symbol = arena_symbol(schedule, schedule.places[state.tensor].buffer)
    return StateText(symbol, schedule.address(state.tensor), state.tensor.type.bytes, state.fill)
