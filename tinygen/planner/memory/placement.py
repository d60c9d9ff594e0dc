"""Offsets for blocks, so that the arena is small."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, cycle, islice

from tinygen.planner.memory.block import Block, InPlace
from tinygen.planner.memory.branching import Branching
from tinygen.planner.memory.effort import BUDGETS, EXACT_TIME, FIRST_MOVES, NODE_WORK, TRIAL, UNITS_OF_NODE, Effort
from tinygen.planner.memory.exact import solve
from tinygen.planner.memory.first_fit import Problem
from tinygen.planner.memory.local_search import FoundOffsets, Walk
from tinygen.planner.schedule.solver import Solver


def place(
    items: Sequence[Sequence[Block]],
    in_place: Sequence[InPlace] = (),
    effort: Effort = Effort.THOROUGH,
    bound: int | None = None,
    limit: int | None = None,
    solver: Solver = Solver.BUILTIN,
) -> dict[Block, int]:
    """For each item one of its alternative blocks, with its offset, such that no two live parts overlap.

    See `PlacementSearch`.
    """
    return PlacementSearch(items, in_place, bound, solver).best(effort, limit)


class PlacementSearch:
    """The search for a placement of items with a small arena. It can be gone on with: nothing is tried twice.

    First fit in several orders, then local search, also from the last blocks of all items, from other orders and with
    other random numbers, then the exact solver where it is asked for; whoever meets the lower bound, which may be
    known, ends it, and so does the proof that nothing is smaller.
    """

    def __init__(
        self,
        items: Sequence[Sequence[Block]],
        in_place: Sequence[InPlace] = (),
        bound: int | None = None,
        solver: Solver = Solver.BUILTIN,
        like: Sequence[tuple[int, int]] = (),
    ) -> None:
        """`like`: the `order` of a search that was much alike, of the items that both have."""
        self._problem = problem = Problem.of(items, in_place)
        self._solver = solver
        self.least = problem.bound if bound is None else bound  # bytes that no placement goes below, as far as known
        orders, lasts = (sorted(found, key=self._first_fit) for found in (_orders(problem), _orders_of_lasts(problem)))
        best = min((*_orders_like(problem, like), orders[0]), key=self._first_fit)
        self._other_orders = [order for order in (*orders, *lasts) if order is not best]
        self._walks = [Walk(problem, best), *(Walk(problem, order, exchanges=False) for order in lasts[:1])]
        self._found = min((walk.best for walk in self._walks), key=lambda found: found.bytes)
        self._wanted: int | None = None  # an arena that would do, while there may be one
        self._asked: set[tuple[int, int]] = set()  # limits for which the search was in vain, with its nodes
        self._steps = {
            Effort.QUICK: self._quickly(),
            Effort.FAIR: self._fairly(),
            Effort.THOROUGH: self._thoroughly(),
            Effort.EXHAUSTIVE: self._exhaustively(),
        }
        self.units = sum(len(found) for found in problem.gaps)  # of work so far: moves of a block
        self.distances = 0  # forbidden ones that walks looked at so far, at most

    def _first_fit(self, order: Sequence[int]) -> int:
        """Bytes of the arena that an order gives."""
        return self._problem.arena_bytes(self._problem.first_fit(order))

    @property
    def bytes(self) -> int:
        """Of the smallest arena found."""
        return self._found.bytes

    @property
    def order(self) -> list[tuple[int, int]]:
        """The items, by number, in the order in which first fit gives the smallest arena found, and which block of each
        it takes."""
        items = enumerate(self._problem.alternatives)
        numbers = {index: (number, choice) for number, item in items for choice, index in enumerate(item)}
        return [numbers[index] for index in self._found.order]

    @property
    def offsets(self) -> list[int]:
        """Of those, in that order."""
        return [self._found.offsets[index] for index in self._found.order]

    def best(self, effort: Effort, limit: int | None = None) -> dict[Block, int]:
        """The smallest placement found; with a `limit` any within it will do: no smaller one is looked for."""
        self._wanted = limit
        self._search(effort)
        return {self._problem.blocks[index]: offset for index, offset in self._found.offsets.items()}

    def is_within(self, limit: int, effort: Effort) -> bool:
        """Whether a placement within a limit is found; the search ends where it is known that there is none."""
        self._wanted = limit
        self._search(effort, is_all_or_nothing=True)
        return self._found.bytes <= limit

    def _search(self, effort: Effort, *, is_all_or_nothing: bool = False) -> None:
        """Go on until there is what is wanted, or enough was tried."""
        if self._is_done or (is_all_or_nothing and self._is_in_vain):
            return
        stages = list(Effort)
        for _ in chain.from_iterable(self._steps[stage] for stage in stages[: stages.index(effort) + 1]):
            if self._is_done or (is_all_or_nothing and self._is_in_vain):
                return
        if effort in (Effort.THOROUGH, Effort.EXHAUSTIVE) and self._solver is Solver.CP_SAT and not self._is_done:
            self._take(_found(self._problem, solve(self._problem, self._found.offsets, EXACT_TIME, self._wanted)))

    @property
    def _is_done(self) -> bool:
        return self._found.bytes <= max(self.least, self._wanted or 0)

    @property
    def _is_in_vain(self) -> bool:
        return self._wanted is not None and self._wanted < self.least

    def _quickly(self) -> Iterator[None]:
        """A short walk from the best order, and from the best one of the last blocks."""
        for walk in self._walks:
            yield from self._walked(walk, FIRST_MOVES)
        yield from self._compared(Effort.QUICK)
        for walk in self._walks:
            yield from self._walked(walk, BUDGETS[Effort.QUICK].moves)

    def _fairly(self) -> Iterator[None]:
        """The rest of these walks."""
        yield from self._compared(Effort.FAIR)
        for walk in sorted(self._walks, key=lambda walk: walk.bytes):
            yield from self._walked(walk, BUDGETS[Effort.FAIR].moves)

    def _thoroughly(self) -> Iterator[None]:
        """Walks from other orders, which end in different valleys: all of them a while, the better half on (successive
        halving: Jamieson and Talwalkar, 2016)."""
        budget = BUDGETS[Effort.THOROUGH]
        walks = [Walk(self._problem, order) for order in self._other_orders[: budget.other_orders]]
        for walk in walks:
            yield from self._walked(walk, budget.moves // TRIAL)
        for walk in sorted(walks, key=lambda walk: walk.bytes)[: len(walks) // 2]:
            yield from self._walked(walk, budget.moves)
        yield from self._compared(Effort.THOROUGH)

    def _exhaustively(self) -> Iterator[None]:
        """Walks from all orders in turn, with other random numbers: one in many may find what the others do not."""
        budget = BUDGETS[Effort.EXHAUSTIVE]
        orders = cycle([self._found.order, *self._other_orders])
        for seed, order in enumerate(islice(orders, budget.repeats), 1):
            yield from self._walked(Walk(self._problem, order, seed), budget.moves)
        yield from self._compared(Effort.EXHAUSTIVE)

    def _walked(self, walk: Walk, moves: int) -> Iterator[None]:
        """From one smaller arena to the next, with what it finds taken."""
        self._take_from(walk)
        for made in walk.go_on(moves):
            self.units += made * len(self._problem.alternatives)
            self.distances += made * walk.distances
            self._take_from(walk)
            yield

    def _compared(self, effort: Effort) -> Iterator[None]:
        """Ask whether what is wanted is there, or anything smaller than what was found, until that is not known."""
        nodes = min(BUDGETS[effort].nodes, NODE_WORK // self._branching.size)
        while not self._is_done:
            is_wanted = self._wanted is not None and not self._is_in_vain
            limit = self._wanted if is_wanted and self._wanted is not None else self._found.bytes - 1
            if (limit, nodes) in self._asked:
                return
            answer = self._branching.within(limit, nodes)
            self.units += UNITS_OF_NODE * answer.nodes
            if answer.offsets is not None:
                self._take(_found(self._problem, answer.offsets))
            elif answer.is_impossible:
                self.least = limit + 1
            else:
                self._asked.add((limit, nodes))
            yield

    @cached_property
    def _branching(self) -> Branching:
        return Branching(self._problem)

    def _take_from(self, walk: Walk) -> None:
        if walk.bytes < self._found.bytes:
            self._found = walk.best

    def _take(self, found: FoundOffsets) -> None:
        if found.bytes < self._found.bytes:
            self._found = found


def _found(problem: Problem, offsets: Mapping[int, int]) -> FoundOffsets:
    """Offsets that others found, and their order from the lowest."""
    return FoundOffsets(sorted(offsets, key=offsets.__getitem__), dict(offsets), problem.arena_bytes(dict(offsets)))


def arena_bytes(offsets: Mapping[Block, int]) -> int:
    """End of the highest block."""
    return max((offset + block.bytes for block, offset in offsets.items()), default=0)


def _orders_like(problem: Problem, like: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Another problem's order, with the items that it did not have behind the others, and before them."""
    if not like:
        return []
    known, numbers = [problem.alternatives[number][choice] for number, choice in like], {number for number, _ in like}
    others = [item[0] for number, item in enumerate(problem.alternatives) if number not in numbers]
    return [[*known, *others], [*others, *known]] if others else [known]


def _orders(problem: Problem) -> list[list[int]]:
    """Large first, early first, long-lived first, and large areas of bytes and ticks first; with all items' first
    blocks, and with the first and the second ones taking turns."""
    firsts = [item[0] for item in problem.alternatives]
    turns = [item[min(number % 2, len(item) - 1)] for number, item in enumerate(problem.alternatives)]
    chosen = [firsts, turns] if turns != firsts else [firsts]
    return [sorted(indices, key=key) for indices in chosen for key in _keys(problem)]


def _orders_of_lasts(problem: Problem) -> list[list[int]]:
    """The same with the last blocks, where there are others than those that are first or second, and late first: mostly
    they are good beside each other, results below operands, and single exchanges do not get there."""
    lasts = [item[-1] for item in problem.alternatives]
    if all(len(item) <= 2 for item in problem.alternatives):
        return []
    starts = [(block.live & -block.live).bit_length() for block in problem.blocks]
    late_first = sorted(lasts, key=lambda i: -starts[i])
    return [late_first, *(sorted(lasts, key=key) for key in _keys(problem))]


def _keys(problem: Problem) -> list[Callable[[int], tuple[int, int]]]:
    sizes = [block.bytes for block in problem.blocks]
    lifetimes = [block.live.bit_count() for block in problem.blocks]
    starts = [(block.live & -block.live).bit_length() for block in problem.blocks]
    return [
        lambda i: (-sizes[i], starts[i]),
        lambda i: (starts[i], -sizes[i]),
        lambda i: (-lifetimes[i], -sizes[i]),
        lambda i: (-lifetimes[i] * sizes[i], -sizes[i]),
    ]
