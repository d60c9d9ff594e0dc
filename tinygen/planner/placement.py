"""Offsets for blocks, so that the arena is small."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.planner.block import Block, InPlace
from tinygen.planner.first_fit import Problem
from tinygen.planner.local_search import search
from tinygen.planner.solver import is_installed, solve


@dataclass(frozen=True)
class Effort:
    """How long to search for a placement that misses its bound."""

    moves: int  # of local search
    exact: float  # deterministic time of the exact solver


QUICK = Effort(moves=300, exact=0)
THOROUGH = Effort(moves=3000, exact=0.25)
_RESTARTS = 3  # of local search, in place of the exact solver


def place(
    items: Sequence[Sequence[Block]],
    in_place: Sequence[InPlace] = (),
    effort: Effort = THOROUGH,
    bound: int = 0,
    limit: int | None = None,
) -> dict[Block, int]:
    """For each item one of its alternative blocks, with its offset, such that no two live parts overlap.

    First fit in several orders, then local search, then the exact solver where it is installed, or local search from
    other orders; whoever meets the lower bound, of which more may be known, ends it. With a `limit` any arena within it
    will do: no smaller one is looked for. Of an item's blocks all have as many bytes live at any tick.
    """
    problem = Problem.of(items, in_place)
    enough = max(problem.bound, bound, limit or 0)
    order, *others = sorted(_orders(problem), key=lambda order: problem.arena_bytes(problem.first_fit(order)))
    offsets = search(problem, order, effort.moves, enough)
    if effort.exact and is_installed() and problem.arena_bytes(offsets) > enough:
        offsets = solve(problem, offsets, effort.exact, limit)
    for other in others[:_RESTARTS] if effort.exact and not is_installed() else ():
        if problem.arena_bytes(offsets) <= enough:
            break
        found = search(problem, other, effort.moves, enough)
        offsets = min(offsets, found, key=problem.arena_bytes)
    return {problem.blocks[index]: offset for index, offset in offsets.items()}


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
