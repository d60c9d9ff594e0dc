"""First fit: blocks take, in a given order, the lowest offset that nothing placed before them forbids."""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tinygen.planner.memory.block import Block, Gap, InPlace, forbidden, least_bytes

NOWHERE = -1  # as an offset: of a block that has none
_Placed = tuple[int, int]  # a block's offset, and the block


class Change(NamedTuple):
    """How an order differs from one before it. Sets of blocks are bits of an integer."""

    first: int  # position from which on it differs
    end: int  # position from which on the same blocks as before stand before each, but for `exchanged`
    moved: int  # blocks that stand elsewhere
    exchanged: int = 0  # blocks that only one of the orders has


@dataclass(frozen=True)
class Problem:
    """Items to be placed. Each has alternative blocks, of which one is chosen; blocks are known by index.

    An order has one block of every item.
    """

    blocks: tuple[Block, ...]
    alternatives: tuple[tuple[int, ...], ...]  # of each item
    gaps: tuple[Mapping[int, Sequence[Gap]], ...]  # of each block to those of other items: forbidden distances

    @classmethod
    def of(cls, items: Sequence[Sequence[Block]], in_place: Sequence[InPlace] = ()) -> "Problem":
        """The problem of placing some items."""
        blocks = tuple(block for item in items for block in item)
        owner = [number for number, item in enumerate(items) for _ in item]
        numbers = iter(range(len(blocks)))
        pairs: dict[Block, dict[Block, list[InPlace]]] = {}
        for pair in in_place:
            for one, other in ((pair.operand, pair.result), (pair.result, pair.operand)):
                pairs.setdefault(one, {}).setdefault(other, []).append(pair)
        gaps: tuple[dict[int, list[Gap]], ...] = tuple({} for _ in blocks)
        for i, first in enumerate(blocks):
            live, own = first.live, owner[i]
            beside = pairs.get(first, {})
            for j in range(i + 1, len(blocks)):
                second = blocks[j]
                if owner[j] == own or not (live & second.live or second in beside):
                    continue
                found = forbidden(first, second, beside.get(second, ()))
                if found:
                    gaps[j][i] = found
                    gaps[i][j] = [(-high, -low) for low, high in reversed(found)]
        return cls(blocks, tuple(tuple(next(numbers) for _ in item) for item in items), gaps)

    @cached_property
    def bound(self) -> int:
        """No placement ends lower, whichever alternatives it takes."""
        return least_bytes([[self.blocks[index] for index in item] for item in self.alternatives])

    @cached_property
    def item_of(self) -> dict[int, tuple[int, ...]]:
        """The item that each block is an alternative of."""
        return {index: item for item in self.alternatives for index in item}

    @cached_property
    def others(self) -> tuple[tuple[int, ...], ...]:
        """For each block: the others of its item."""
        return tuple(tuple(i for i in self.item_of[index] if i != index) for index in range(len(self.blocks)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each block."""
        return tuple(block.bytes for block in self.blocks)

    @cached_property
    def _beside(self) -> tuple["_Beside", ...]:
        """For each block: how it lies beside the others."""
        return tuple(
            _Beside.of(block, gaps, len(self.blocks)) for block, gaps in zip(self.blocks, self.gaps, strict=True)
        )

    @cached_property
    def around(self) -> tuple[int, ...]:
        """For each block: the set of itself and the others of which some distances are forbidden."""
        return tuple(1 << index | sum(1 << number for number in found) for index, found in enumerate(self.gaps))

    def first_fit(self, order: Sequence[int]) -> dict[int, int]:
        """Offsets of the blocks in `order`."""
        return placed(order, self.fill(order))

    def fill(self, order: Iterable[int]) -> list[int]:
        """By block: its offset where the blocks are placed in `order`; `NOWHERE` for those that are not in it."""
        at: list[int] = [NOWHERE] * len(self.blocks)
        upwards: list[_Placed] = []
        for index in order:
            at[index] = offset = self._beside[index].lowest(upwards, at)
            insort(upwards, (offset, index))
        return at

    def refill(self, order: Sequence[int], change: Change, before: Sequence[int], limit: int) -> list[int] | None:
        """The same, where it is known what another order gave: blocks stay where they were unless one changed that
        they lie beside. None as soon as one would end above `limit`, which no block did before."""
        first, end, moved, changed = change  # from now on `changed` is what lies elsewhere, too
        at: list[int] = [NOWHERE] * len(before)
        upwards: list[_Placed] = []
        for index in order[:first]:
            at[index] = offset = before[index]
            upwards.append((offset, index))
        upwards.sort()
        around, beside, touched = self.around, self._beside, moved | changed
        for position in range(first, len(order)):
            if position == end:
                touched = changed
            index = order[position]
            offset = before[index]
            if around[index] & touched:
                offset = beside[index].lowest(upwards, at)
                if offset + self.sizes[index] > limit:
                    return None
                if offset != before[index]:
                    changed |= 1 << index
                    touched |= changed
            at[index] = offset
            insort(upwards, (offset, index))
        return at

    def arena_bytes(self, offsets: dict[int, int]) -> int:
        """End of the highest block."""
        return max((offset + self.blocks[index].bytes for index, offset in offsets.items()), default=0)


class _Beside(NamedTuple):
    """A block among others."""

    bytes: int
    align: int
    gaps: tuple[Gap | None, ...]  # by other block: the open interval of distances from it that is forbidden,
    further: tuple[tuple[int, int, int], ...]  # and other blocks of which several are, with each further one

    @classmethod
    def of(cls, block: Block, gaps: Mapping[int, Sequence[Gap]], count: int) -> "_Beside":
        """Of so many blocks; `gaps` as in `Problem`."""
        first: list[Gap | None] = [None] * count
        for other, (gap, *_) in gaps.items():
            first[other] = gap
        further = tuple((other, *gap) for other, found in gaps.items() for gap in found[1:])
        return cls(block.bytes, block.align, tuple(first), further)

    def lowest(self, upwards: Sequence[_Placed], at: Sequence[int]) -> int:
        """The lowest offset beside the blocks that have one: these from the lowest on, and their offsets by block.

        Most of the time of searches goes by here. From where a block ends, all that lie above are out of its way; one
        that it passes below may be in its way once it was lifted by another.
        """
        size, align, gaps, further = self
        offset, end = 0, size
        is_open = True
        while is_open:
            is_open = has_passed = False
            for other, number in upwards:
                if other >= end:
                    break
                gap = gaps[number]
                if gap is None:
                    continue
                low, high = gap
                if offset >= other + high:
                    continue
                if other + low < offset:
                    offset = -(-(other + high) // align) * align
                    end = offset + size
                    is_open = has_passed
                else:
                    has_passed = True
            for number, low, high in further:
                other = at[number]
                if other != NOWHERE and other + low < offset < other + high:
                    offset = -(-(other + high) // align) * align
                    end = offset + size
                    is_open = True
        return offset


def lowest(block: Block, offsets: Mapping[Block, int]) -> int:
    """The lowest offset of a further block that those which have one do not forbid."""
    taken = sorted((at + low, at + high) for other, at in offsets.items() for low, high in forbidden(other, block))
    offset = 0
    for low, high in taken:
        if low < offset < high:
            offset = -(-high // block.align) * block.align
    return offset


def placed(order: Iterable[int], at: Sequence[int]) -> dict[int, int]:
    """The offsets of all blocks in `order`."""
    return {index: at[index] for index in order}
