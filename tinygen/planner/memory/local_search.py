"""Local search for a better first-fit order, and for which of its alternative blocks each item takes.

Late-acceptance hill climbing (Burke and Bykov, 2017): a move may worsen the arena up to what it was some moves ago.
Bounded by a number of moves, with a given seed: the same blocks always give the same offsets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tinygen.planner.memory.effort import WALK_WORK
from tinygen.planner.memory.first_fit import NOWHERE, Change, Problem, placed

_MEMORY = (
    40  # moves that acceptance looks back. With 10 more placements are as small as any that is known, but of whole
)
# plans some get worse: the room that is left then goes to arenas with less scratch, and more instructions
_SEED = 0
_Order = tuple[int, ...]


@dataclass(frozen=True)
class FoundOffsets:
    """Offsets of blocks, and the order that first fit made them of."""

    order: Sequence[int]
    offsets: Mapping[int, int]
    bytes: int  # of the arena


class Walk:
    """A walk from order to order, which can be gone on with."""

    def __init__(self, problem: Problem, order: Sequence[int], seed: int = _SEED, *, exchanges: bool = True) -> None:
        """`exchanges`: whether items may take other blocks than those of the order."""
        self.moves = 0  # so far
        self._exchanges = exchanges
        self._problem = problem
        self._random = Random(seed)
        self._best = self._here = _Place(problem, tuple(order), problem.fill(order))
        self._met_cache: dict[_Order, _Place] = {}  # places that were found,
        self._above_cache: dict[_Order, int] = {}  # and what those are above that were not
        self._history = [self._here.bytes] * _MEMORY
        self.distances = max(_work(problem), 1)  # forbidden ones that each move looks at, at most
        self._most = WALK_WORK // self.distances

    @property
    def bytes(self) -> int:
        """The smallest arena met."""
        return self._best.bytes

    @property
    def best(self) -> FoundOffsets:
        """The first order met that gives it."""
        return FoundOffsets(self._best.order, placed(self._best.order, self._best.at), self._best.bytes)

    def go_on(self, moves: int) -> Iterator[int]:
        """Move until it has moved so often, or looked at as much as one walk may; hands over, with the moves since
        then, where it meets a smaller arena, and at the end."""
        until = min(moves, self._most)
        while self.moves < until:
            before = self.moves
            self._move_until_smaller(until)
            yield self.moves - before

    def _move_until_smaller(self, until: int) -> None:
        """Move until it has moved so often, or meets the smallest arena so far."""
        here, history = self._here, self._history
        while self.moves < until:
            turn = self.moves % _MEMORY
            self.moves += 1
            there = self._moved(max(here.bytes, history[turn]))
            if there is not None:
                self._here = here = there
            history[turn] = here.bytes
            if here.bytes < self._best.bytes:
                self._best = here
                return

    def _moved(self, limit: int) -> "_Place | None":
        """A place beside the one where it is; None where it is above a limit."""
        here = self._here
        order, change = here.neighbour(self._random.random, self._random.getrandbits, exchanges=self._exchanges)
        if order == here.order:
            return here
        there = self._met_cache.get(order)
        if there is None and limit > self._above_cache.get(order, -1):
            at = self._problem.refill(order, change, here.at, limit)
            if at is None:
                self._above_cache[order] = limit
                return None
            there = self._met_cache[order] = _Place(self._problem, order, at)
        return there if there is not None and there.bytes <= limit else None


def _work(problem: Problem) -> int:
    return len(problem.blocks) + sum(len(gaps) for found in problem.gaps for gaps in found.values())


def _below(end: int, bits: Callable[[int], int]) -> int:
    """A random number below `end`, of random bits."""
    number = bits(end.bit_length())
    while number >= end:
        number = bits(end.bit_length())
    return number


class _Place:
    """Where the walk is: an order, and the offsets that it gives."""

    def __init__(self, problem: Problem, order: _Order, at: Sequence[int]) -> None:
        self.order = order
        self.at = at
        self._problem = problem
        ends = [at[index] + problem.sizes[index] for index in order]
        self.bytes = max(ends, default=0)
        self._highest = [index for index, end in zip(order, ends, strict=True) if end == self.bytes]
        self._beside: dict[int, list[int]] = {}

    def neighbour(
        self, share: Callable[[], float], bits: Callable[[int], int], *, exchanges: bool
    ) -> tuple[_Order, Change]:
        """An order that places a block at the top of the arena, or one beside it, earlier, swaps it with another, or
        exchanges it for an alternative where it may. Chosen by random shares of one, and random bits."""
        chosen = self._highest[_below(len(self._highest), bits)]
        if chosen not in self._beside:
            self._beside[chosen] = sorted(i for i in self._problem.gaps[chosen] if self.at[i] != NOWHERE)
        beside = self._beside[chosen]
        if beside and share() < 0.5:
            chosen = beside[_below(len(beside), bits)]
        changed = list(self.order)
        position = changed.index(chosen)
        others = self._problem.others[chosen] if exchanges else ()
        if others and share() < 0.5:
            other = changed[position] = others[_below(len(others), bits)]
            return tuple(changed), Change(position, position, 0, exchanged=1 << chosen | 1 << other)
        if share() < 0.5:
            target = _below(position + 1, bits)
            changed.insert(target, changed.pop(position))
            return tuple(changed), Change(target, position + 1, 1 << chosen)
        place = _below(len(changed), bits)
        other = changed[place]
        changed[position], changed[place] = other, chosen
        first, last = min(position, place), max(position, place)
        return tuple(changed), Change(first, last + 1, 1 << chosen | 1 << other)
