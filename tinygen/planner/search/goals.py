"""What each goal takes from the curve of RAM against instructions, in one place.

The curve is what plans take and run, from the smallest arena that is found to whole tensors. Of its points

    time, size   take the fewest instructions within the limit: on whole tensors, if these fit and loops do not save at
                 least LOOPS_SAVE of them: nobody reads loops for less;
    balanced     the fewest bytes of those that run at most BALANCED_EXTRA more instructions than whole tensors; where
                 none of them is within the limit, the fewest instructions;
    ram          the least product of bytes and instructions of those that take at most `slack` more than the smallest
                 arena: each percent of RAM has to save a percent of the instructions. Of products that are the same but
                 for a step of the curve the smallest arena.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

RAM_SLACK = 0.10  # of the smallest arena, unless something else is asked for
LOOPS_SAVE = 0.10  # of the instructions on whole tensors
BALANCED_EXTRA = 0.05  # of the instructions on whole tensors
ESTIMATES_OFF = 0.005  # by which estimates of two plans of one network may be off against each other
NEGLIGIBLE = 0.001  # of the instructions: what saves less is worth neither another look nor another chain
CURVE_STEP = 1 / 32  # points of the curve that are nearer to each other, by their bytes or by what they cost, are one


@dataclass(frozen=True, order=True)
class Tradeoff:
    """A plan on the curve."""

    bytes: int
    instructions: float

    @property
    def product(self) -> float:
        """What is to be small where memory is the goal."""
        return self.bytes * self.instructions


def most_balanced(whole_instructions: float) -> float:
    """Instructions, as estimated, that a balanced plan may run."""
    return (1 + BALANCED_EXTRA) / (1 + ESTIMATES_OFF) * whole_instructions


def chosen_balanced(points: Iterable[Tradeoff], limit_bytes: int | None = None) -> Tradeoff:
    """Which one a balanced plan is, of some of which the fastest is one."""
    known = sorted(points, key=lambda point: (point.bytes, point.instructions))
    fitting = [point for point in known if limit_bytes is None or point.bytes <= limit_bytes]
    most = most_balanced(min(point.instructions for point in known))
    cheap = [point for point in fitting if point.instructions <= most]
    fastest = sorted(fitting, key=lambda point: (point.instructions, point.bytes))
    return next(iter((*cheap, *fastest, *known)))


def room_bytes(least_bytes: int, slack: float, limit_bytes: int | None = None) -> int:
    """What an arena may take where the smallest takes `least_bytes`: `slack` more, but no more than the limit."""
    room = int((1 + slack) * least_bytes)
    return room if limit_bytes is None else max(least_bytes, min(room, limit_bytes))


def chosen_for_ram(points: Iterable[Tradeoff]) -> Tradeoff:
    """Which one memory as the goal takes, of some that there is room for."""
    known = sorted(points, key=lambda point: (point.bytes, point.instructions))
    most = (1 + CURVE_STEP) * min(point.product for point in known)
    return next(point for point in known if point.product <= most)


def looked_for_ram(
    least_bytes: int,
    room_bytes: int,
    fastest: Callable[[int, float], Tradeoff | None],
    may_run: Callable[[int, float], bool],
) -> Iterator[Tradeoff]:
    """The points that are worth looking at: what is left out costs no less, but for a step of the curve.

    `fastest` finds what runs the fewest instructions in an arena, if that is fewer than so many: none in a smaller one
    is expected to run fewer, as far as searches find the best. `may_run` tells without looking for it where there is
    none that runs fewer. Each look halves the bytes between two limits, where their smallest arena with the fewest
    instructions would cost least.
    """
    found = fastest(room_bytes, inf)
    if found is None:
        return
    yield found
    best = found.product
    open: list[tuple[float, int, int, float]] = []  # what they cost at best, least and most bytes, fewest instructions

    def leave(least: int, most: int, instructions: float) -> None:
        if instructions < worth(least) and least <= most:
            heappush(open, (least * instructions, least, most, instructions))

    def worth(least: int) -> float:
        """Instructions that make an arena of so many bytes, or more, clearly cheaper where it runs fewer."""
        return best / ((1 + CURVE_STEP) * least)

    leave(least_bytes, found.bytes - 1, found.instructions)
    while open and (1 + CURVE_STEP) * open[0][0] < best:
        _, least, most, instructions = heappop(open)
        middle = (least + most) // 2
        as_good = (1 + CURVE_STEP) * best / least  # with more instructions it is not chosen, however small it is
        if may_run(middle, worth(least)) and (found := fastest(middle, as_good)):
            yield found
            best = min(best, found.product)
            leave(least, min(middle, found.bytes - 1), max(instructions, found.instructions))
        leave(middle + 1, most, instructions)
