"""The schedule: calls in order, the buffers they use, and where the buffers lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel
from tinygen.targets.board import Board


class BufferKind(Enum):
    """What a buffer holds."""

    WHOLE = "whole"  # one or more tensors, entirely
    SCRATCH = "scratch"  # working memory of one call


@dataclass(frozen=True, eq=False)
class Buffer:
    """A range of the arena. Compared by identity."""

    name: str
    bytes: int
    align: int
    kind: BufferKind
    first_step: int  # index of the first step that touches it
    last_step: int  # index of the last step that touches it, inclusive

    def overlaps_in_time(self, other: "Buffer") -> bool:
        """Whether both are live at some step."""
        return self.first_step <= other.last_step and other.first_step <= self.last_step


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: a buffer and the byte it starts at."""

    buffer: Buffer
    offset: int


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a kernel on whole tensors."""

    op: Op
    kernel: Kernel
    scratch: Buffer | None


Step = Call


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that code generation needs to know of memory."""

    graph: Graph
    board: Board
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    places: Mapping[Tensor, Place]  # of every tensor that is not a constant
    offsets: Mapping[Buffer, int]  # from the start of the arena
    lower_bound_bytes: int  # no placement of these buffers is smaller

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of kernels in execution order."""
        return self.steps

    @property
    def arena_bytes(self) -> int:
        """Size of the arena: activations, scratch and state."""
        return max((self.offsets[buffer] + buffer.bytes for buffer in self.buffers), default=0)

    @property
    def arena_align(self) -> int:
        """Alignment that the arena needs."""
        return max((buffer.align for buffer in self.buffers), default=1)

    def address(self, tensor: Tensor) -> int:
        """First byte of a tensor, from the start of the arena."""
        place = self.places[tensor]
        return self.offsets[place.buffer] + place.offset

    def live_buffers(self, step: int) -> tuple[Buffer, ...]:
        """The buffers that are live at a step."""
        return tuple(buffer for buffer in self.buffers if buffer.first_step <= step <= buffer.last_step)

    def live_bytes(self, step: int) -> int:
        """Sum of the buffers that are live at a step."""
        return sum(buffer.bytes for buffer in self.live_buffers(step))

    @property
    def peak_step(self) -> int:
        """Index of the step at which most bytes are live; 0 where there is none."""
        return max(range(len(self.steps)), key=self.live_bytes, default=0)
