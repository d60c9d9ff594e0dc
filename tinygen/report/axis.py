"""Numbers along the axes of pictures."""

from dataclasses import dataclass
from math import ceil, log10


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float  # in the picture
    text: str


def nice_ticks(end: int, most: int) -> list[int]:
    """At most about that many round numbers from 0 up to `end`."""
    smallest = max(end / most, 1)
    power = 10 ** int(log10(smallest))
    distance = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= smallest)
    return [distance * index for index in range(ceil((end + 1) / distance))]
