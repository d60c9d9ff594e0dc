"""Streams in the words of the templates: what is kept from call to call, and how it moves on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tinygen.codegen.places import Places
from tinygen.ir.stream import State, Stream
from tinygen.kernels.base import Table
from tinygen.planner.schedule.schedule import Schedule


@dataclass(frozen=True)
class StateText:
    """Bytes that are kept."""

    address: str  # of the first one, from a pointer to its arena
    bytes: int
    fill: int  # of each byte before the first call, where they are alike
    table: str | None  # what holds the bytes before the first call, where they differ

    @property
    def pointer(self) -> str:
        """Their first byte, from a context."""
        return f"context->{self.address}"


@dataclass(frozen=True)
class StreamText:
    """How a model is called that takes a signal part by part."""

    stream: Stream

    @property
    def signal(self) -> str:
        """What one call takes, for a comment."""
        count = self.stream.columns
        return f"the next {count} columns" if count > 1 else "the next column"


def stream_text(schedule: Schedule) -> StreamText | None:
    """The stream of a schedule; None where it has none."""
    stream = schedule.graph.stream
    return StreamText(stream) if stream else None


def state_texts(schedule: Schedule, places: Places, symbol: Callable[[Table], str]) -> list[StateText]:
    """The states of a schedule, in order."""

    def text(state: State) -> StateText:
        start = schedule.starts.get(state)
        fill = 0 if start else int(np.frombuffer(state.initial.tobytes()[:1], np.int8)[0])
        table = symbol(start) if start else None
        return StateText(places.of_tensor(state.tensor), state.tensor.type.bytes, fill, table)

    return [text(state) for state in schedule.graph.states if state.tensor.type.bytes]
