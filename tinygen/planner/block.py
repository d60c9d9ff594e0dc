"""Blocks of memory whose parts live at different times, and how close two of them may lie.

Time is counted in ticks, two for each step: at the first the step reads, at the second its results are there. Lifetimes
are sets of ticks, held as bits of an integer: whether two parts ever meet is one AND.

A tensor that is read row by row frees its memory from the top, and one that is written row by row takes it from the
top. So two blocks that are live at the same time may still overlap, as far as no two parts meet that are live together
(the diagonal memory optimisation of Lee and Nirjon, arXiv 2010.01668, for any parts).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


def read_tick(step: int) -> int:
    """The tick at which a step reads its operands."""
    return 2 * step


def written_tick(step: int) -> int:
    """The tick from which the results of a step are there."""
    return 2 * step + 1


def ticks(first: int, last: int) -> int:
    """The set of ticks from `first` to `last`, both included."""
    return ((1 << (last - first + 1)) - 1) << first


@dataclass(frozen=True)
class Part:
    """Bytes of a block and the ticks at which they hold something."""

    offset: int
    bytes: int
    live: int  # set of ticks


@dataclass(frozen=True, eq=False)
class Block:
    """A range of the arena with the lifetimes of its parts. Compared by identity."""

    name: str
    bytes: int
    align: int
    parts: tuple[Part, ...]
    live: int = field(init=False)  # ticks at which any part is live

    def __post_init__(self) -> None:
        live = 0
        for part in self.parts:
            live |= part.live
        object.__setattr__(self, "live", live)


@dataclass(frozen=True)
class InPlace:
    """A call may write its result over an operand, if both start at the same byte: places relative to the blocks."""

    operand: Block
    operand_offset: int
    result: Block
    result_offset: int
    bytes: int


Gap = tuple[int, int]  # open interval


def forbidden(first: Block, second: Block, in_place: Sequence[InPlace]) -> list[Gap]:
    """Open intervals of `second's offset - first's offset` at which live parts would overlap, merged and ascending."""
    if not first.live & second.live and not in_place:
        return []
    found = [
        (a.offset - b.offset - b.bytes, a.offset - b.offset + a.bytes)
        for a in first.parts
        for b in second.parts
        if a.live & b.live
    ]
    for pair in in_place:
        if {pair.operand, pair.result} == {first, second}:
            found += _beside(first, pair)
    return _merged(found)


def _beside(first: Block, pair: InPlace) -> list[Gap]:
    """All overlaps of operand and result but the one of equal addresses."""
    if pair.operand is first:
        equal = pair.operand_offset - pair.result_offset
    else:
        equal = pair.result_offset - pair.operand_offset
    return [(equal - pair.bytes, equal), (equal, equal + pair.bytes)]


def _merged(gaps: list[Gap]) -> list[Gap]:
    merged: list[Gap] = []
    for low, high in sorted(gaps):
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def bound_bytes(blocks: Sequence[Block]) -> int:
    """The most bytes live at one tick: no placement of the blocks is smaller."""
    return max(live_bytes(blocks), default=0)


def live_bytes(blocks: Sequence[Block]) -> list[int]:
    """Bytes live at each tick, up to the last one at which anything is live."""
    end = max((block.live.bit_length() for block in blocks), default=0)
    changes = [0] * (end + 1)
    for block in blocks:
        for part in block.parts:
            for first, last in runs(part.live):
                changes[first] += part.bytes
                changes[last + 1] -= part.bytes
    total, levels = 0, []
    for change in changes[:end]:
        total += change
        levels.append(total)
    return levels


def runs(live: int) -> list[tuple[int, int]]:
    """The maximal runs of consecutive ticks in a set."""
    found = []
    position = 0
    while live:
        skip = (live & -live).bit_length() - 1
        live >>= skip
        position += skip
        length = (~live & (live + 1)).bit_length() - 1
        found.append((position, position + length - 1))
        live >>= length
        position += length
    return found
