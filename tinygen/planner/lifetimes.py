"""From steps to blocks: at which ticks each byte of each buffer holds something that will be read.

Knows nothing of rows, rings or kernels: only which step reads and writes which bytes.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from tinygen.planner.block import Block, Part, read_tick, ticks, written_tick

Key = TypeVar("Key", bound=Hashable)


class Access(NamedTuple, Generic[Key]):
    """Bytes of a buffer, by the buffer's key."""

    key: Key
    offset: int
    bytes: int


class Traffic(NamedTuple, Generic[Key]):
    """What one step does to memory. The first result may take over the bytes of operands in `in_place`."""

    reads: tuple[Access[Key], ...]
    writes: tuple[Access[Key], ...]
    in_place: tuple[Access[Key], ...] = ()  # some of `reads`


@dataclass
class _Piece:
    """Bytes of a buffer that are always read and written together."""

    offset: int
    bytes: int
    live: int = 0
    written: int | None = None  # tick from which its present value is there


@dataclass
class _Buffer:
    bytes: int
    cuts: set[int] = field(default_factory=set)
    pieces: list[_Piece] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)  # of the pieces that begin, or at last end, at each cut

    def cut(self) -> None:
        ends = sorted({0, self.bytes, *self.cuts})
        self.pieces = [_Piece(start, end - start) for start, end in pairwise(ends)]
        self.numbers = {end: number for number, end in enumerate(ends)}

    def within(self, access: Access[Key]) -> list[_Piece]:
        return self.pieces[self.numbers[access.offset] : self.numbers[access.offset + access.bytes]]


def blocks(
    traffic: Sequence[Traffic[Key]],
    sizes: Mapping[Key, int],
    aligns: Mapping[Key, int],
    names: Mapping[Key, str],
    before: frozenset[Key],
    after: frozenset[Key],
) -> dict[Key, Block]:
    """One block per buffer. `before`: written before the first step; `after`: read after the last one."""
    buffers = {key: _Buffer(size) for key, size in sizes.items()}
    for step in traffic:
        for access in (*step.reads, *step.writes):
            buffers[access.key].cuts |= {access.offset, access.offset + access.bytes}
    for buffer in buffers.values():
        buffer.cut()
    for key in before:
        for piece in buffers[key].pieces:
            piece.written = 0
            # Whole inputs are there at the first tick, read or not; those that no step touches for all of the first.
            piece.live |= 1 if buffers[key].cuts else 1 << read_tick(0) | 1 << written_tick(0)
    for index, step in enumerate(traffic):
        _run(index, step, buffers)
    end = written_tick(max(len(traffic) - 1, 0))
    for key in after:
        for piece in buffers[key].pieces:
            _read(piece, end)
    return {key: _block(buffer, names[key], aligns[key]) for key, buffer in buffers.items()}


def _run(index: int, step: Traffic[Key], buffers: Mapping[Key, _Buffer]) -> None:
    """Operands live until the step reads them; where a result is written in place of others, until it is written."""
    for access in step.reads:
        shared = not step.in_place or access in step.in_place
        for piece in buffers[access.key].within(access):
            _read(piece, read_tick(index) if shared else written_tick(index))
    for position, access in enumerate(step.writes):
        late = step.in_place and position == 0  # scratch is in use while operands are read
        for piece in buffers[access.key].within(access):
            piece.written = written_tick(index) if late else read_tick(index)
            piece.live |= 1 << piece.written | 1 << written_tick(index)


def _read(piece: _Piece, tick: int) -> None:
    first = piece.written if piece.written is not None else tick
    if first <= tick:
        piece.live |= ticks(first, tick)


def _block(buffer: _Buffer, name: str, align: int) -> Block:
    parts: list[Part] = []
    for piece in buffer.pieces:
        last = parts[-1] if parts else None
        if last and last.live == piece.live:
            parts[-1] = Part(last.offset, last.bytes + piece.bytes, last.live)
        else:
            parts.append(Part(piece.offset, piece.bytes, piece.live))
    return Block(name, buffer.bytes, align, tuple(part for part in parts if part.live))
