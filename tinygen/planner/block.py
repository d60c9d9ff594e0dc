"""Blocks of memory whose parts live at different times, and how close two of them may lie.

Time is counted in ticks, two for each step: at the first the step reads, at the second its results are there. Lifetimes
are sets of ticks, held as bits of an integer: whether two parts ever meet is one AND.

A tensor that is read row by row frees its memory from the top, and one that is written row by row takes it from the
top. So two blocks that are live at the same time may still overlap, as far as no two parts meet that are live together
(the diagonal memory optimisation of Lee and Nirjon, arXiv 2010.01668, for any parts). A tensor that is live as a whole
is a block with one part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import gcd


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
    """A range of the arena with the lifetimes of its parts, ascending by offset. Compared by identity."""

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


def whole_block(name: str, bytes: int, align: int, first_step: int, last_step: int) -> Block:
    """A block all of which is live from one step to another, both included."""
    return Block(name, bytes, align, (Part(0, bytes, ticks(read_tick(first_step), written_tick(last_step))),))


@dataclass(frozen=True)
class InPlace:
    """A call may write its result over an operand, if both start at the same byte: places relative to the blocks."""

    operand: Block
    operand_offset: int
    result: Block
    result_offset: int
    bytes: int


Gap = tuple[int, int]  # open interval


def forbidden(first: Block, second: Block, in_place: Sequence[InPlace] = ()) -> list[Gap]:
    """Open intervals of `second's offset - first's offset` at which live parts would overlap, merged and ascending.

    `in_place`: the pairs of operand and result in these two blocks.
    """
    if not first.live & second.live and not in_place:
        return []
    found = [
        (a.offset - b.offset - b.bytes, a.offset - b.offset + a.bytes)
        for a in first.parts
        for b in second.parts
        if a.live & b.live
    ]
    for pair in in_place:
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
    """The most bytes live at one tick, gaps for alignment included: no placement of the blocks is smaller."""
    levels = live_bytes(blocks)
    best = max(levels, default=0)
    most_gaps = sum(len(block.parts) * (block.align - 1) for block in blocks)
    for tick in sorted(_changes(blocks), key=levels.__getitem__, reverse=True):
        if levels[tick] + most_gaps <= best:
            break
        best = max(best, _stacked_bytes(blocks, tick))
    return best


def least_bytes(items: Sequence[Sequence[Block]]) -> int:
    """No placement is smaller that takes one of the blocks of each item."""
    fixed = [item[0] for item in items if len(item) == 1]
    chosen = [[live_bytes([block]) for block in item] for item in items if len(item) > 1]
    if not chosen:
        return bound_bytes(fixed)
    least = [list(map(min, *levels)) for levels in chosen]
    return max(map(sum, zip_longest(live_bytes(fixed), *least, fillvalue=0)), default=0)


def _changes(blocks: Sequence[Block]) -> set[int]:
    """Ticks at which a part begins to live: at one of them most bytes are live."""
    return {first for block in blocks for part in block.parts for first, _ in runs(part.live)}


def _stacked_bytes(blocks: Sequence[Block], tick: int) -> int:
    """No arrangement of what is live at a tick ends lower: all ranges but the highest are followed by a gap up to the
    least alignment. What lies inside a block off that alignment lowers it."""
    ranges = [(block, offset, size) for block in blocks for offset, size in _live_ranges(block, tick)]
    align = gcd(*(block.align for block, _, _ in ranges), *(offset for _, offset, _ in ranges))
    gaps = [-size % align for _, _, size in ranges]
    return sum(size for _, _, size in ranges) + sum(gaps) - max(gaps)


def _live_ranges(block: Block, tick: int) -> list[tuple[int, int]]:
    """Offset and bytes of what is live at a tick, neighbours merged."""
    ranges: list[tuple[int, int]] = []
    for part in block.parts:
        if part.live >> tick & 1:
            if ranges and sum(ranges[-1]) == part.offset:
                ranges[-1] = (ranges[-1][0], ranges[-1][1] + part.bytes)
            else:
                ranges.append((part.offset, part.bytes))
    return ranges


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
