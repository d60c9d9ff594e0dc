"""First fit: blocks take, in a given order, the lowest offset that nothing placed before them forbids."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tinygen.planner.memory.block import Block, Gap, InPlace, forbidden, least_bytes


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
    def neighbours(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """For each block: the others, with each open interval of its offset beyond theirs that is forbidden."""
        return tuple(tuple((i, *gap) for i, gaps in found.items() for gap in gaps) for found in self.gaps)

    @cached_property
    def around(self) -> tuple[int, ...]:
        """For each block: the set of itself and the others of which some distances are forbidden."""
        return tuple(1 << index | sum(1 << number for number in found) for index, found in enumerate(self.gaps))

    def first_fit(self, order: Sequence[int]) -> dict[int, int]:
        """Offsets of the blocks in `order`."""
        return placed(order, self.fill(order))

    def fill(self, order: Iterable[int]) -> list[int | None]:
        """By block: its offset where the blocks are placed in `order`; None for those that are not in it."""
        at: list[int | None] = [None] * len(self.blocks)
        for index in order:
            at[index] = self._lowest(index, at)
        return at

    def refill(
        self, order: Sequence[int], change: Change, before: Sequence[int | None], limit: int
    ) -> list[int | None] | None:
        """The same, where it is known what another order gave: blocks stay where they were unless one changed that
        they lie beside. None as soon as one would end above `limit`, which no block did before."""
        first, end, moved, changed = change  # from now on `changed` is what lies elsewhere, too
        at: list[int | None] = [None] * len(before)
        for index in order[:first]:
            at[index] = before[index]
        around, sizes, touched = self.around, self.sizes, moved | changed
        for position in range(first, len(order)):
            if position == end:
                touched = changed
            index = order[position]
            if not around[index] & touched:
                at[index] = before[index]
                continue
            at[index] = offset = self._lowest(index, at)
            if offset + sizes[index] > limit:
                return None
            if offset != before[index]:
                changed |= 1 << index
                touched |= changed
        return at

    def _lowest(self, index: int, at: Sequence[int | None]) -> int:
        """The lowest offset of a block beside those that have one. Most of the time of searches goes by here."""
        taken = [
            (other + low, high)
            for number, low, gap_high in self.neighbours[index]
            if (other := at[number]) is not None and (high := other + gap_high) > 0
        ]
        taken.sort()
        offset, align = 0, self.blocks[index].align
        for low, high in taken:
            if offset <= low:
                break
            if offset < high:
                offset = -(-high // align) * align
        return offset

    def arena_bytes(self, offsets: dict[int, int]) -> int:
        """End of the highest block."""
        return max((offset + self.blocks[index].bytes for index, offset in offsets.items()), default=0)


def lowest(block: Block, offsets: Mapping[Block, int]) -> int:
    """The lowest offset of a further block that those which have one do not forbid."""
    taken = sorted((at + low, at + high) for other, at in offsets.items() for low, high in forbidden(other, block))
    offset = 0
    for low, high in taken:
        if low < offset < high:
            offset = -(-high // block.align) * block.align
    return offset


def placed(order: Iterable[int], at: Sequence[int | None]) -> dict[int, int]:
    """The offsets of all blocks in `order`."""
    return {index: offset for index in order if (offset := at[index]) is not None}
