"""Offsets for blocks: first fit beside everything that is forbidden, then local search over the order."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tinygen.planner.block import Block, Gap, InPlace, bound_bytes, forbidden

_MEMORY = 40  # moves that acceptance looks back


@dataclass(frozen=True)
class Placing:
    """Blocks by index, with the forbidden distances of each to the others."""

    blocks: tuple[Block, ...]
    gaps: tuple[dict[int, list[Gap]], ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], in_place: Sequence[InPlace] = ()) -> "Placing":
        """The problem of placing some blocks."""
        gaps: tuple[dict[int, list[Gap]], ...] = tuple({} for _ in blocks)
        for i, first in enumerate(blocks):
            for j in range(i + 1, len(blocks)):
                second = blocks[j]
                pairs = [p for p in in_place if {p.operand, p.result} == {first, second}]
                found = forbidden(first, second, pairs)
                if found:
                    gaps[j][i] = found
                    gaps[i][j] = [(-high, -low) for low, high in reversed(found)]
        return cls(tuple(blocks), gaps)

    def first_fit(self, order: Sequence[int]) -> list[int]:
        """Offsets by index: each block in turn at the lowest offset that nothing placed before it forbids."""
        offsets = [-1] * len(self.blocks)
        for index in order:
            taken = [
                (offsets[other] + low, offsets[other] + high)
                for other, gaps in self.gaps[index].items()
                if offsets[other] >= 0
                for low, high in gaps
            ]
            offsets[index] = _lowest(sorted(taken), self.blocks[index].align)
        return offsets

    def arena_bytes(self, offsets: Sequence[int]) -> int:
        """End of the highest block."""
        return max((o + b.bytes for o, b in zip(offsets, self.blocks, strict=True)), default=0)


def _lowest(taken: Sequence[Gap], align: int) -> int:
    offset = 0
    for low, high in taken:
        if offset <= low:
            break
        if offset < high:
            offset = -(-high // align) * align
    return offset


def place(blocks: Sequence[Block], in_place: Sequence[InPlace] = (), moves: int = 3000) -> list[int]:
    """Offsets by index for a small arena.

    First fit in several orders, then late-acceptance hill climbing (Burke and Bykov, 2017) with a fixed seed and at
    most `moves` moves; it ends where the bound is met.
    """
    problem = Placing.of(blocks, in_place)
    bound = bound_bytes(blocks)
    order = min(_orders(blocks), key=lambda order: problem.arena_bytes(problem.first_fit(order)))
    return _search(problem, list(order), bound, moves)


def _orders(blocks: Sequence[Block]) -> list[list[int]]:
    lifetimes = [block.live.bit_count() for block in blocks]
    starts = [(block.live & -block.live).bit_length() for block in blocks]
    indices = range(len(blocks))
    keys = (
        [(-b.bytes, starts[i]) for i, b in enumerate(blocks)],
        [(starts[i], -b.bytes) for i, b in enumerate(blocks)],
        [(-lifetimes[i], -b.bytes) for i, b in enumerate(blocks)],
        [(-lifetimes[i] * b.bytes, -b.bytes) for i, b in enumerate(blocks)],
    )
    return [sorted(indices, key=key.__getitem__) for key in keys]


def _search(problem: Placing, order: list[int], bound: int, moves: int) -> list[int]:
    random = Random(0)
    best = offsets = problem.first_fit(order)
    best_cost = cost = problem.arena_bytes(offsets)
    history = [cost] * _MEMORY
    for move in range(moves):
        if best_cost <= bound:
            break
        candidate = _moved(random, problem, order, offsets)
        moved = problem.first_fit(candidate)
        moved_cost = problem.arena_bytes(moved)
        if moved_cost <= max(cost, history[move % _MEMORY]):
            order, offsets, cost = candidate, moved, moved_cost
        if cost < best_cost:
            best, best_cost = offsets, cost
        history[move % _MEMORY] = cost
    return best


def _moved(random: Random, problem: Placing, order: list[int], offsets: Sequence[int]) -> list[int]:
    """An order that places a block at the top of the arena, or one beside it, earlier, or swaps it with another."""
    ends = [o + b.bytes for o, b in zip(offsets, problem.blocks, strict=True)]
    top = max(ends)
    chosen = random.choice([index for index, end in enumerate(ends) if end == top])
    if problem.gaps[chosen] and random.random() < 0.5:
        chosen = random.choice(sorted(problem.gaps[chosen]))
    changed = list(order)
    position = changed.index(chosen)
    if random.random() < 0.5:
        changed.insert(random.randrange(position + 1), changed.pop(position))
    else:
        other = random.randrange(len(changed))
        changed[position], changed[other] = changed[other], changed[position]
    return changed
