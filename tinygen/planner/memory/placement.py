"""Offsets for blocks, so that the arena is small."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.planner.memory.block import Block, InPlace
from tinygen.planner.memory.exact import solve
from tinygen.planner.memory.first_fit import Problem
from tinygen.planner.memory.local_search import Found, search
from tinygen.planner.schedule.solver import Solver


@dataclass(frozen=True)
class Effort:
    """How long to search for a placement that misses its bound."""

    moves: int  # of local search
    exact: float  # deterministic time of the exact solver; none where it is 0

    @property
    def is_thorough(self) -> bool:
        """Whether one walk of local search is not enough."""
        return self.exact > 0


QUICK = Effort(moves=300, exact=0)
THOROUGH = Effort(moves=3000, exact=0.25)
_OTHER_ORDERS = 3  # that a thorough search also starts from,
_AGAIN = 2  # and how often from the best that was found,
_FEWER_MOVES = 0.4  # with that share of the moves


def place(
    items: Sequence[Sequence[Block]],
    in_place: Sequence[InPlace] = (),
    effort: Effort = THOROUGH,
    bound: int = 0,
    limit: int | None = None,
    solver: Solver = Solver.BUILTIN,
) -> dict[Block, int]:
    """For each item one of its alternative blocks, with its offset, such that no two live parts overlap.

    First fit in several orders, then local search, also from other orders, then the exact solver where it is asked for;
    whoever meets the lower bound, of which more may be known, ends it. With a `limit` any arena within it will do: no
    smaller one is looked for. Of an item's blocks all have as many bytes live at any tick.
    """
    problem = Problem.of(items, in_place)
    enough = max(problem.bound, bound, limit or 0)
    order, *others = sorted(_orders(problem), key=lambda order: problem.arena_bytes(problem.first_fit(order)))
    found = search(problem, order, effort.moves, enough)
    if effort.is_thorough and found.bytes > enough:
        found = _searched_on(problem, others, found, effort, enough)
    offsets = found.offsets
    if solver is Solver.CP_SAT and effort.is_thorough and found.bytes > enough:
        offsets = solve(problem, offsets, effort.exact, limit)
    return {problem.blocks[index]: offset for index, offset in offsets.items()}


def _searched_on(problem: Problem, orders: Sequence[list[int]], found: Found, effort: Effort, enough: int) -> Found:
    """The best of further walks: from other orders, then from the best order of all with other seeds.

    The first ones end in different valleys, the others get down to the ground of the deepest.
    """
    for order in orders[:_OTHER_ORDERS]:
        if found.bytes <= enough:
            break
        found = min(found, search(problem, order, effort.moves, enough), key=lambda each: each.bytes)
    for seed in range(1, _AGAIN + 1):
        if found.bytes <= enough:
            break
        again = search(problem, found.order, int(_FEWER_MOVES * effort.moves), enough, seed)
        found = again if again.bytes <= found.bytes else found
    return found


def arena_bytes(offsets: Mapping[Block, int]) -> int:
    """End of the highest block."""
    return max((offset + block.bytes for block, offset in offsets.items()), default=0)


def _orders(problem: Problem) -> list[list[int]]:
    """Large first, early first, long-lived first, and large areas of bytes and ticks first; with all items' first
    blocks, and with the first and the last ones taking turns."""
    firsts = [item[0] for item in problem.alternatives]
    turns = [item[-(number % 2)] for number, item in enumerate(problem.alternatives)]
    chosen = [firsts, turns] if turns != firsts else [firsts]
    return [sorted(indices, key=key) for indices in chosen for key in _keys(problem)]


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
