"""Local search for a better first-fit order, and for which of its alternative blocks each item takes.

Late-acceptance hill climbing (Burke and Bykov, 2017): a move may worsen the arena up to what it was some moves ago.
Bounded by a number of moves, with a fixed seed: the same blocks always give the same offsets.
"""

from collections.abc import Sequence
from random import Random

from tinygen.planner.first_fit import Problem

_WORK = 3_000_000  # most forbidden distances looked at by all moves together; about a second
_MEMORY = 40  # moves that acceptance looks back


def search(problem: Problem, order: Sequence[int], moves: int) -> dict[int, int]:
    """The best offsets met on a walk that starts at `order` and ends early where the bound is met."""
    random = Random(0)
    order = list(order)
    best = offsets = problem.first_fit(order)
    best_cost = cost = problem.arena_bytes(offsets)
    history = [cost] * _MEMORY
    for move in range(min(moves, _WORK // max(_work(problem), 1))):
        if best_cost <= problem.bound:
            break
        candidate = _neighbour(random, problem, order, offsets)
        moved = problem.first_fit(candidate)
        moved_cost = problem.arena_bytes(moved)
        if moved_cost <= max(cost, history[move % _MEMORY]):
            order, offsets, cost = candidate, moved, moved_cost
        if cost < best_cost:
            best, best_cost = offsets, cost
        history[move % _MEMORY] = cost
    return best


def _work(problem: Problem) -> int:
    return len(problem.blocks) + sum(len(gaps) for found in problem.gaps for gaps in found.values())


def _neighbour(random: Random, problem: Problem, order: list[int], offsets: dict[int, int]) -> list[int]:
    """An order that places a block at the top of the arena, or one beside it, earlier, swaps it with another, or
    exchanges it for an alternative."""
    ends = {index: offset + problem.blocks[index].bytes for index, offset in offsets.items()}
    top = max(ends.values())
    chosen = random.choice([index for index, end in ends.items() if end == top])
    beside = sorted(index for index in problem.gaps[chosen] if index in offsets)
    if beside and random.random() < 0.5:
        chosen = random.choice(beside)
    changed = list(order)
    position = changed.index(chosen)
    others = [index for index in problem.item_of[chosen] if index != chosen]
    if others and random.random() < 0.5:
        changed[position] = random.choice(others)
    elif random.random() < 0.5:
        changed.insert(random.randrange(position + 1), changed.pop(position))
    else:
        other = random.randrange(len(changed))
        changed[position], changed[other] = changed[other], changed[position]
    return changed
