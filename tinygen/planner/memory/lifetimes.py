"""From steps to blocks: at which ticks each byte of each buffer holds something that will be read.

Knows nothing of rows, rings or kernels: only which step reads and writes which bytes.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from tinygen.planner.memory.block import Block, Part, read_tick, ticks, written_tick

Key = TypeVar("Key", bound=Hashable)
KeyOfAccess = TypeVar("KeyOfAccess", bound=Hashable, covariant=True)


class Access(NamedTuple, Generic[KeyOfAccess]):
    """Bytes of a buffer, by the buffer's key."""

    key: KeyOfAccess
    offset: int
    bytes: int


class Traffic(NamedTuple, Generic[Key]):
    """What one step does to memory. The first result may take over the bytes of operands in `in_place`: all of them, or
    where there is a `lead` those that lie so many bytes behind where it begins, or more."""

    reads: tuple[Access[Key], ...]
    writes: tuple[Access[Key], ...]
    in_place: tuple[Access[Key], ...] = ()  # some of `reads`
    lead: int | None = None


class Use(NamedTuple):
    """Bytes of a buffer are read at a tick, or written from a tick on."""

    offset: int
    bytes: int
    tick: int
    is_write: bool


@dataclass
class _Piece:
    """Bytes of a buffer that are always read and written together."""

    offset: int
    bytes: int
    live: int = 0
    written: int | None = None  # tick from which its present value is there


def blocks(
    traffic: Sequence[Traffic[Key]],
    sizes: Mapping[Key, int],
    aligns: Mapping[Key, int],
    names: Mapping[Key, str],
    before: frozenset[Key],
    after: frozenset[Key],
) -> dict[Key, Block]:
    """One block per buffer. `before`: written before the first step; `after`: read after the last one."""
    uses = uses_of(traffic)
    end = written_tick(max(len(traffic) - 1, 0))
    return {
        key: Block(
            names[key],
            size,
            aligns[key],
            parts_of(uses.get(key, ()), size, is_there=key in before, kept_to=end if key in after else None),
        )
        for key, size in sizes.items()
    }


def uses_of(traffic: Iterable[Traffic[Key]]) -> dict[Key, list[Use]]:
    """What steps do to each buffer, in order; buffers in the order in which they are first used.

    Operands live until the step reads them; where a result is written in place of others, until it is written.
    """
    uses: defaultdict[Key, list[Use]] = defaultdict(list)
    for index, (reads, writes, in_place, _) in enumerate(traffic):
        reading, writing = read_tick(index), written_tick(index)
        for access in reads:
            key, offset, bytes = access
            shared = not in_place or access in in_place
            uses[key].append(Use(offset, bytes, reading if shared else writing, False))
        begin = writing if in_place else reading
        for key, offset, bytes in writes:
            uses[key].append(Use(offset, bytes, begin, True))
            begin = reading  # scratch is in use while operands are read
    return dict(uses)


def parts_of(uses: Sequence[Use], size: int, *, is_there: bool = False, kept_to: int | None = None) -> tuple[Part, ...]:
    """When which bytes of a buffer hold something that will be read, from its uses in order.

    `is_there`: written before the first step. `kept_to`: the tick at which all of it is read again.
    """
    cuts = {0, size}
    for use in uses:
        cuts |= {use.offset, use.offset + use.bytes}
    ends = sorted(cuts)
    pieces = [_Piece(start, end - start) for start, end in pairwise(ends)]
    numbers = {end: number for number, end in enumerate(ends)}
    if is_there:
        for piece in pieces:
            piece.written = 0
            # Whole inputs are there at the first tick, read or not; those that no step touches for all of the first.
            piece.live |= 1 if uses else 1 << read_tick(0) | 1 << written_tick(0)
    for offset, bytes, tick, is_write in uses:
        for piece in pieces[numbers[offset] : numbers[offset + bytes]]:
            if is_write:
                piece.written = tick
                piece.live |= 1 << tick | 1 << (tick | 1)  # to the end of the step
            else:
                _read(piece, tick)
    if kept_to is not None:
        for piece in pieces:
            _read(piece, kept_to)
    return _merged(pieces)


def _read(piece: _Piece, tick: int) -> None:
    first = piece.written if piece.written is not None else tick
    if first <= tick:
        piece.live |= ticks(first, tick)


def _merged(pieces: Sequence[_Piece]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for piece in pieces:
        last = parts[-1] if parts else None
        if last and last.live == piece.live:
            parts[-1] = Part(last.offset, last.bytes + piece.bytes, last.live)
        else:
            parts.append(Part(piece.offset, piece.bytes, piece.live))
    return tuple(part for part in parts if part.live)
