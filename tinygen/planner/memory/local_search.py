"""Local search for a better first-fit order, and for which of its alternative blocks each item takes.

Late-acceptance hill climbing (Burke and Bykov, 2017): a move may worsen the arena up to what it was some moves ago.
Bounded by a number of moves, with given seeds: the same blocks always give the same offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tinygen.planner.memory.first_fit import Problem, placed

_WORK = 3_000_000  # most forbidden distances looked at by all moves together; about a second
_MEMORY = 40  # moves that acceptance looks back


@dataclass(frozen=True)
class Found:
    """An order of blocks, and what first fit makes of it."""

    order: list[int]
    offsets: dict[int, int]
    bytes: int  # of the arena


def search(problem: Problem, order: Sequence[int], moves: int, enough: int, seed: int = 0) -> Found:
    """The best order met on a walk that starts at `order` and ends early at an arena of `enough` bytes.

    Walks of different seeds, a whole number from 0, take different ways.
    """
    random = Random(seed)
    at: list[int | None] = [None] * len(problem.blocks)
    problem.fill(order, at)
    best = here = _Place(problem, list(order), at)
    history = [here.bytes] * _MEMORY
    for move in range(min(moves, _WORK // max(_work(problem), 1))):
        if best.bytes <= enough:
            break
        there = here.moved(random, max(here.bytes, history[move % _MEMORY]))
        if there is not None:
            here = there
        if here.bytes < best.bytes:
            best = here
        history[move % _MEMORY] = here.bytes
    return Found(best.order, placed(best.order, best.at), best.bytes)


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
        order, kept = self._neighbour(random)
        if order == self.order:
            return self
        at = list(self.at)
        for index in self.order[kept:]:
            at[index] = None
        return _Place(self._problem, order, at) if self._problem.fill(order[kept:], at, limit) else None

    def _neighbour(self, random: Random) -> tuple[list[int], int]:
        """An order that places a block at the top of the arena, or one beside it, earlier, swaps it with another, or
        exchanges it for an alternative; and how many blocks stand where they stood before the first that moved."""
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
            changed[position] = random.choice(others)
            return changed, position
        if random.random() < 0.5:
            target = random.randrange(position + 1)
            changed.insert(target, changed.pop(position))
            return changed, target
        other = random.randrange(len(changed))
        changed[position], changed[other] = changed[other], changed[position]
        return changed, min(position, other)
