"""Local search for a better first-fit order, and for which of its alternative blocks each item takes.

Late-acceptance hill climbing (Burke and Bykov, 2017): a move may worsen the arena up to what it was some moves ago.
Bounded by a number of moves, with given seeds: the same blocks always give the same offsets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tinygen.planner.memory.effort import WALK_WORK
from tinygen.planner.memory.first_fit import Change, Problem, placed

_MEMORY = (
    40  # moves that acceptance looks back. With 10 more placements are as small as any that is known, but of whole
)
# plans some get worse: the room that is left then goes to arenas with less scratch, and more instructions


@dataclass(frozen=True)
class FoundOffsets:
    """Offsets of blocks, and the order that first fit made them of."""

    order: Sequence[int]
    offsets: Mapping[int, int]
    bytes: int  # of the arena


class Walk:
    """A walk from order to order, which can be gone on with. Those of different seeds, whole numbers from 0, take
    different ways."""

    def __init__(self, problem: Problem, order: Sequence[int], seed: int = 0) -> None:
        self.moves = 0  # so far
        self._random = Random(seed)
        self._best = self._here = _Place(problem, list(order), problem.fill(order))
        self._history = [self._here.bytes] * _MEMORY
        self._most = WALK_WORK // max(_work(problem), 1)

    @property
    def bytes(self) -> int:
        """The smallest arena met."""
        return self._best.bytes

    @property
    def best(self) -> FoundOffsets:
        """The first order met that gives it."""
        return FoundOffsets(self._best.order, placed(self._best.order, self._best.at), self._best.bytes)

    def go_on(self, moves: int) -> Iterator[None]:
        """Move until it has moved so often, or looked at as much as one walk may; hands over after each move."""
        while self.moves < min(moves, self._most):
            self._move()
            yield

    def _move(self) -> None:
        turn = self.moves % _MEMORY
        self.moves += 1
        there = self._here.moved(self._random, max(self._here.bytes, self._history[turn]))
        if there is not None:
            self._here = there
        if self._here.bytes < self._best.bytes:
            self._best = self._here
        self._history[turn] = self._here.bytes


def _work(problem: Problem) -> int:
    return len(problem.blocks) + sum(len(gaps) for found in problem.gaps for gaps in found.values())


class _Place:
    """Where the walk is: an order, and the offsets that it gives."""

    def __init__(self, problem: Problem, order: list[int], at: list[int | None]) -> None:
        self.order = order
        self.at = at
        self._problem = problem
        ends = [offset + problem.blocks[index].bytes for index in order if (offset := at[index]) is not None]
        self.bytes = max(ends, default=0)
        self._highest = [index for index, end in zip(order, ends, strict=True) if end == self.bytes]
        self._beside: dict[int, list[int]] = {}

    def moved(self, random: Random, limit: int) -> "_Place | None":
        """A place beside this one; None where it is above a limit."""
        order, change = self._neighbour(random)
        if order == self.order:
            return self
        at = self._problem.refill(order, change, self.at, limit)
        return _Place(self._problem, order, at) if at is not None else None

    def _neighbour(self, random: Random) -> tuple[list[int], Change]:
        """An order that places a block at the top of the arena, or one beside it, earlier, swaps it with another, or
        exchanges it for an alternative."""
        chosen = random.choice(self._highest)
        if chosen not in self._beside:
            self._beside[chosen] = sorted(i for i in self._problem.gaps[chosen] if self.at[i] is not None)
        beside = self._beside[chosen]
        if beside and random.random() < 0.5:
            chosen = random.choice(beside)
        changed = list(self.order)
        position = changed.index(chosen)
        others = [index for index in self._problem.item_of[chosen] if index != chosen]
        if others and random.random() < 0.5:
            other = changed[position] = random.choice(others)
            return changed, Change(position, position, 0, exchanged=1 << chosen | 1 << other)
        if random.random() < 0.5:
            target = random.randrange(position + 1)
            changed.insert(target, changed.pop(position))
            return changed, Change(target, position + 1, 1 << chosen)
        place = random.randrange(len(changed))
        other = changed[place]
        changed[position], changed[place] = other, chosen
        first, last = min(position, place), max(position, place)
        return changed, Change(first, last + 1, 1 << chosen | 1 << other)
