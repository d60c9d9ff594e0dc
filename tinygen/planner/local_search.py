"""Local search for a better first-fit order.

Late-acceptance hill climbing (Burke and Bykov, 2017): a move may worsen the arena up to what it was some moves ago.
Bounded by a number of moves, with a fixed seed: the same buffers always give the same offsets.
"""

from random import Random

from tinygen.planner.first_fit import Instance

_MOVES = 3000
_WORK = 3_000_000  # most neighbours looked at by all moves together; about a second
_MEMORY = 40  # moves that acceptance looks back


def search(instance: Instance, order: tuple[int, ...], bound: int) -> tuple[int, ...]:
    """The best offsets met on a walk that starts at `order` and ends early where the arena is only `bound` bytes."""
    random = Random(0)
    best = offsets = instance.first_fit(order)
    best_cost = cost = instance.arena_bytes(offsets)
    history = [cost] * _MEMORY
    for move in range(_moves(instance)):
        if best_cost <= bound:
            break
        candidate = _neighbour(random, instance, order, offsets)
        moved = instance.first_fit(candidate)
        moved_cost = instance.arena_bytes(moved)
        if moved_cost <= max(cost, history[move % _MEMORY]):
            order, offsets, cost = candidate, moved, moved_cost
        if cost < best_cost:
            best, best_cost = offsets, cost
        history[move % _MEMORY] = cost
    return best


def _moves(instance: Instance) -> int:
    work = len(instance.buffers) + sum(len(n) for n in instance.neighbours)
    return min(_MOVES, _WORK // max(work, 1))


def _neighbour(random: Random, instance: Instance, order: tuple[int, ...], offsets: tuple[int, ...]) -> tuple[int, ...]:
    """An order that places a buffer at the top of the arena, or one beside it, earlier, or swaps it with another."""
    ends = instance.ends(offsets)
    top = max(ends)
    chosen = random.choice([index for index, end in enumerate(ends) if end == top])
    if instance.neighbours[chosen] and random.random() < 0.5:
        chosen = random.choice(instance.neighbours[chosen])
    changed = list(order)
    position = changed.index(chosen)
    if random.random() < 0.5:
        changed.insert(random.randrange(position + 1), changed.pop(position))
    else:
        other = random.randrange(len(changed))
        changed[position], changed[other] = changed[other], changed[position]
    return tuple(changed)
