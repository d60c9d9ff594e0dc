"""Streams in the words of the templates: what is kept from call to call, and how it moves on."""

from dataclasses import dataclass

from tinygen.codegen.places import Places
from tinygen.ir.stream import State, Stream
from tinygen.planner.schedule.schedule import Schedule


@dataclass(frozen=True)
class StateText:
    """Bytes that are kept."""

    address: str  # of the first one, from a pointer to its arena
    bytes: int
    fill: int  # of each byte, before the first call

    @property
    def pointer(self) -> str:
        """Their first byte, from a context."""
        return f"context->{self.address}"


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


def stream_text(schedule: Schedule, places: Places) -> StreamText | None:
    """The stream of a schedule; None where it has none."""
    stream = schedule.graph.stream
    return StreamText(stream, [_state(state, places) for state in stream.states]) if stream else None


def _state(state: State, places: Places) -> StateText:
    return StateText(places.of_tensor(state.tensor), state.tensor.type.bytes, state.fill)
