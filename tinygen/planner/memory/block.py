"""Blocks of memory whose parts live at different times, and how close two of them may lie.

Time is counted in ticks, two for each step: at the first the step reads, at the second its results are there. Lifetimes
are sets of ticks, held as bits of an integer: whether two parts ever meet is one AND.

A tensor that is read row by row frees its memory from the top, and one that is written row by row takes it from the
top. So two blocks that are live at the same time may still overlap, as far as no two parts meet that are live together
(the diagonal memory optimisation of Lee and Nirjon, arXiv 2010.01668, for any parts). A tensor that is live as a whole
is a block with one part.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, chain, pairwise
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SETS_AT_ONCE = 64  # whose ticks are unpacked


def read_tick(step: int) -> int:
    """The tick at which a step reads its operands."""
    return 2 * step


def written_tick(step: int) -> int:
    """The tick from which the results of a step are there."""
    return 2 * step + 1


def ticks(first: int, last: int) -> int:
    """The set of ticks from `first` to `last`, both included."""
    return ((1 << (last - first + 1)) - 1) << first


class Part(NamedTuple):
    """Bytes of a block and the ticks at which they hold something."""

    offset: int
    bytes: int
    live: int  # set of ticks


Gap = tuple[int, int]  # open interval


class Pattern:
    """The parts of a buffer, with ticks counted from some step. Compared by identity.

    Distances between two buffers are the same wherever their steps run, as long as these are as far from each other.
    """

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.parts = parts
        self._token = object()  # stands for this one in what others keep, which lives longer
        self._gaps_cache: dict[tuple[object, int], list[Gap]] = {}
        self._most_gaps_cache: dict[int, _Levels] = {}

    @cached_property
    def live(self) -> int:
        """Ticks at which any part is live."""
        return _live(self.parts)

    @cached_property
    def digest(self) -> bytes:
        """See `digest_of`."""
        return digest_of(self.parts)

    @cached_property
    def levels(self) -> "_Levels":
        """Bytes live at each tick."""
        return _levels_of([(part.bytes, part.live) for part in self.parts])

    def most_gaps(self, align: int) -> "_Levels":
        """As that of a block of this alignment."""
        if align not in self._most_gaps_cache:
            self._most_gaps_cache[align] = _most_gaps(self.parts, align)
        return self._most_gaps_cache[align]

    def gaps(self, other: "Pattern", later: int, find: Callable[[], list[Gap]]) -> list[Gap]:
        """The forbidden distances to a buffer that lives so many ticks later than its own pattern beside this one,
        found once: without results in place of operands."""
        key = other._token, later
        found = self._gaps_cache.get(key)
        if found is None:
            found = self._gaps_cache[key] = find()
        return found


@dataclass(frozen=True, eq=False)
class Block:
    """A range of the arena with the lifetimes of its parts, ascending by offset. Compared by identity."""

    name: str
    bytes: int
    align: int
    parts: tuple[Part, ...]
    pattern: Pattern | None = None  # of these parts, where it is known,
    later: int = 0  # and how many ticks later they live

    @cached_property
    def live(self) -> int:
        """Ticks at which any part is live."""
        return _live(self.parts) if self.pattern is None else self.pattern.live << self.later

    @cached_property
    def levels(self) -> "_Levels":
        """Bytes live at each tick."""
        if self.pattern is None:
            return _levels_of([(part.bytes, part.live) for part in self.parts])
        return self.pattern.levels.after(self.later)

    @cached_property
    def most_gaps(self) -> "_Levels":
        """The most bytes of gaps beside what is live at each tick: fewer than the alignment behind each range."""
        if self.pattern is None:
            return _most_gaps(self.parts, self.align)
        return self.pattern.most_gaps(self.align).after(self.later)


class _Levels(NamedTuple):
    """A number at each of consecutive ticks, beginning with `first`; 0 at all others."""

    first: int
    numbers: NDArray[np.float64]  # whole ones

    def after(self, ticks: int) -> "_Levels":
        """The same so many ticks later."""
        return _Levels(self.first + ticks, self.numbers)


def _live(parts: Iterable[Part]) -> int:
    found = 0
    for part in parts:
        found |= part.live
    return found


def digest_of(parts: Iterable[Part]) -> bytes:
    """The same for equal parts alone."""
    return blake2b(",".join([f"{offset} {bytes} {live:x}" for offset, bytes, live in parts]).encode()).digest()


def _most_gaps(parts: Iterable[Part], align: int) -> _Levels:
    begins = []
    before, below = 0, 0
    for part in parts:
        begins.append((align - 1, part.live & ~below if part.offset == before else part.live))
        before, below = part.offset + part.bytes, part.live
    return _levels_of(begins)


def whole_block(name: str, bytes: int, align: int, first_step: int, last_step: int) -> Block:
    """A block all of which is live from one step to another, both included."""
    return Block(name, bytes, align, (Part(0, bytes, ticks(read_tick(first_step), written_tick(last_step))),))


@dataclass(frozen=True)
class InPlace:
    """A call may write its result over an operand, if both start at the same byte, or where there is a lead the result
    so many bytes before it, or more: places relative to the blocks."""

    operand: Block
    operand_offset: int
    result: Block
    result_offset: int
    bytes: int  # of the operand
    lead: int | None = None


def forbidden(first: Block, second: Block, in_place: Sequence[InPlace] = ()) -> list[Gap]:
    """Open intervals of `second's offset - first's offset` at which live parts would overlap, merged and ascending.

    `in_place`: the pairs of operand and result in these two blocks.
    """
    if not first.live & second.live and not in_place:
        return []
    one, other = first.pattern, second.pattern
    if one is None or other is None:
        found = _forbidden(first, second)
    else:
        found = one.gaps(other, second.later - first.later, lambda: _forbidden(first, second))
    return _merged([*found, *chain.from_iterable(_beside(first, pair) for pair in in_place)]) if in_place else found


def _forbidden(first: Block, second: Block) -> list[Gap]:
    found: list[Gap] = []
    meeting = [part for part in second.parts if part.live & first.live]
    for offset, bytes, live in first.parts:
        begin, end = 0, None  # of neighbours in the other block that this part meets: their intervals overlap
        for part in meeting:
            if live & part.live:
                if part.offset != end:
                    if end is not None:
                        found.append((offset - end, offset - begin + bytes))
                    begin = part.offset
                end = part.offset + part.bytes
        if end is not None:
            found.append((offset - end, offset - begin + bytes))
    return _merged(found)


def _beside(first: Block, pair: InPlace) -> list[Gap]:
    """All overlaps of operand and result but the one of equal addresses, or those with the lead."""
    equal = pair.operand_offset - pair.result_offset
    gaps = [(-pair.bytes, 0), (0, pair.bytes)] if pair.lead is None else [(-pair.lead, pair.bytes)]
    return [
        (equal + low, equal + high) if pair.operand is first else (-equal - high, -equal - low) for low, high in gaps
    ]


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
    end = _end(blocks)
    levels, gaps = _levels(blocks, end), _sum((block.most_gaps for block in blocks), end)
    best = int(levels.max(initial=0))
    begins = _begins(blocks)
    high = [tick for tick in np.flatnonzero(levels + gaps > best).tolist() if begins >> tick & 1]
    high.sort(key=levels.__getitem__, reverse=True)
    stacks = _Stacks(blocks, high, end) if high else None
    for index, tick in enumerate(high):
        if stacks and levels[tick] + gaps[tick] > best:
            best = max(best, stacks.least_bytes(index))
    return best


def least_bytes(items: Sequence[Sequence[Block]]) -> int:
    """No placement is smaller that takes one of the blocks of each item."""
    fixed = [item[0] for item in items if len(item) == 1]
    choices = [item for item in items if len(item) > 1]
    if not choices:
        return bound_bytes(fixed)
    end = _end([block for item in items for block in item])
    total = _levels(fixed, end)
    for item in choices:
        total += np.minimum.reduce([_levels([block], end) for block in item])
    return int(total.max(initial=0))


def pair_bytes(first: Block, second: Block, in_place: Sequence[InPlace] = ()) -> int:
    """No placement of two blocks takes less: what lives at once may be less, where rows of the one that are free lie
    between others that are not. `in_place`: the pairs of operand and result in these two."""
    gaps = forbidden(first, second, in_place)
    ends = {0, *chain.from_iterable(gaps)}
    free = [end for end in ends if not any(low < end < high for low, high in gaps)]
    return min(max(first.bytes, distance + second.bytes) - min(0, distance) for distance in free)


def _begins(blocks: Sequence[Block]) -> int:
    """The set of ticks at which a part begins to live: at one of them most bytes are live."""
    found = 0
    for block in blocks:
        for part in block.parts:
            found |= part.live & ~(part.live << 1)
    return found


class _Stacks:
    """What is live at some ticks, laid on top of each other."""

    def __init__(self, blocks: Sequence[Block], at: Sequence[int], end: int) -> None:
        parts = [part for block in blocks for part in block.parts]
        joined = [before.offset + before.bytes == part.offset for before, part in pairwise(parts)]
        ends = accumulate(len(block.parts) for block in blocks)
        firsts = [end - len(block.parts) for block, end in zip(blocks, ends, strict=True) if block.parts]
        self._bytes = np.array([part.bytes for part in parts], np.int64)
        self._offsets = np.array([part.offset for part in parts], np.int64)
        self._aligns = np.repeat([block.align for block in blocks], [len(block.parts) for block in blocks])
        self._live = _bits([part.live for part in parts], end)[:, at].astype(np.bool_)
        self._begins = self._live.copy()  # ranges of neighbours of one block
        self._begins[1:] &= ~(self._live[:-1] & np.array(joined, np.bool_)[:, np.newaxis])
        self._begins[firsts] = self._live[firsts]

    def least_bytes(self, index: int) -> int:
        """No arrangement of what is live at one of the ticks ends lower: all ranges but the highest are followed by a
        gap up to the least alignment. What lies inside a block off that alignment lowers it."""
        live = np.flatnonzero(self._live[:, index])
        begins = np.flatnonzero(self._begins[live, index])
        sizes = np.add.reduceat(self._bytes[live], begins)
        lowest = live[begins]
        align = gcd(int(np.gcd.reduce(self._aligns[lowest])), int(np.gcd.reduce(self._offsets[lowest])))
        gaps = -sizes % align
        return int(sizes.sum() + gaps.sum() - gaps.max())


def live_bytes(blocks: Sequence[Block]) -> list[int]:
    """Bytes live at each tick, up to the last one at which anything is live."""
    levels = _levels(blocks, _end(blocks))
    return [int(level) for level in levels.tolist()]


def _end(blocks: Sequence[Block]) -> int:
    """The tick behind the last one at which anything is live."""
    return max((block.live.bit_length() for block in blocks), default=0)


def _levels(blocks: Sequence[Block], end: int) -> NDArray[np.float64]:
    """Bytes live at each tick before `end`."""
    return _sum((block.levels for block in blocks), end)


def _sum(levels: Iterable[_Levels], end: int) -> NDArray[np.float64]:
    """The sum at each tick before `end`."""
    sums = np.zeros(end)
    for first, numbers in levels:
        sums[first : first + len(numbers)] += numbers
    return sums


def _levels_of(values: Sequence[tuple[int, int]]) -> _Levels:
    """The sum, at each tick, of the values whose ticks it is among: found from where sets of ticks begin and end."""
    live = 0
    for _, ticks in values:
        live |= ticks
    if not live:
        return _Levels(0, np.zeros(0))
    first = (live & -live).bit_length() - 1
    end = live.bit_length() - first
    row = 8 * (end // 8 + 1)  # there is room for the end of the last
    changed = np.zeros(row)
    for some in (values[at : at + _SETS_AT_ONCE] for at in range(0, len(values), _SETS_AT_ONCE)):
        changes = b"".join(((ticks ^ (ticks << 1)) >> first).to_bytes(row // 8, "little") for _, ticks in some)
        places = _places(np.frombuffer(changes, np.uint8))
        numbers = np.array([number for number, _ in some], np.float64)[places // row]
        numbers[1::2] *= -1  # of each set a begin, an end, and so on
        changed += np.bincount(places % row, numbers, minlength=row)
    sums: NDArray[np.float64] = np.cumsum(changed)
    return _Levels(first, sums[:end])


def _places(packed: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Where bits are set, the lowest of each byte first: most bytes have none."""
    (bytes,) = packed.nonzero()
    (found,) = np.unpackbits(packed[bytes], bitorder="little").nonzero()
    places: NDArray[np.intp] = 8 * bytes[found >> 3] + (found & 7)
    return places


def _bits(sets: Sequence[int], end: int) -> NDArray[np.uint8]:
    """One line for each set of ticks: whether it has each tick before `end`."""
    row = -(-end // 8)
    packed = np.frombuffer(b"".join(ticks.to_bytes(row, "little") for ticks in sets), np.uint8)
    return np.unpackbits(packed.reshape(len(sets), row), axis=1, count=end, bitorder="little")


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
