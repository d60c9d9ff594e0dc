"""One-dimensional k-means: the numbers that stand for many with the least squared error.

Lloyd's iteration on sorted values, whose sums stand in running totals, so that a step costs a search for each boundary.
It ends in a local minimum, so it starts several times, by the seeding of Arthur and Vassilvitskii (k-means++, 2007) and
from quantiles; the best result counts. The same values and seed give the same numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array, Float32Array

Float64Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
_STARTS = 4  # with k-means++
_MOST_STEPS = 100


def clusters(values: Array, count: int, seed: int, importance: Array | None = None) -> Float32Array:
    """At most `count` centers, ascending; `importance` is what an error of each value weighs, 1 without.

    Where there are no more values than that, they are the values themselves.
    """
    distinct, places = np.unique(values.astype(np.float64).reshape(-1), return_inverse=True)
    if distinct.size <= count:
        return distinct.astype(np.float32)
    weights = None if importance is None else importance.astype(np.float64).reshape(-1)
    sums = np.bincount(places.reshape(-1), weights, distinct.size).astype(np.float64)
    points = _Points(distinct, np.maximum(sums, np.finfo(np.float64).tiny))
    rng = np.random.default_rng(seed)
    starts = [points.quantiles(count), *(points.spread(count, rng) for _ in range(_STARTS))]
    found = [points.settled(start) for start in starts]
    return min(found, key=points.error).astype(np.float32)


def nearest(values: Array, levels: Float32Array) -> npt.NDArray[np.uint8]:
    """Of each value the index of the nearest of at most 256 ascending numbers; of two that are as near, the lower."""
    boundaries = (levels[1:].astype(np.float64) + levels[:-1]) / 2
    return np.searchsorted(boundaries, values.astype(np.float64)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _Points:
    """Distinct values, ascending, and what each weighs."""

    values: Float64Array
    weights: Float64Array

    @cached_property
    def _totals(self) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Running sums of weights, of values and of their squares, from 0 on."""
        powers = (self.weights, self.weights * self.values, self.weights * self.values**2)
        weight, first, second = (np.concatenate([[0.0], np.cumsum(power)]) for power in powers)
        return weight, first, second

    def quantiles(self, count: int) -> Float64Array:
        """Centers that have as many values each."""
        places = (np.arange(count) + 0.5) * self.values.size / count
        return self.values[places.astype(np.intp)]

    def spread(self, count: int, rng: np.random.Generator) -> Float64Array:
        """Centers drawn from the values, each with odds by its squared distance from those before it."""
        centers = [self._drawn(self.weights, rng)]
        distances = (self.values - centers[0]) ** 2
        while len(centers) < count:
            centers.append(self._drawn(self.weights * distances, rng))
            distances = np.minimum(distances, (self.values - centers[-1]) ** 2)
        return np.sort(np.array(centers))

    def _drawn(self, odds: Float64Array, rng: np.random.Generator) -> float:
        totals = np.cumsum(odds)
        place = int(np.searchsorted(totals, rng.random() * totals[-1], "right"))
        return float(self.values[min(place, self.values.size - 1)])

    def settled(self, centers: Float64Array) -> Float64Array:
        """Centers that are the means of the values nearest to them."""
        for _ in range(_MOST_STEPS):
            ends = self._ends(centers)
            weight, first = (np.diff(total[ends]) for total in self._totals[:2])
            moved = np.where(weight > 0, first / np.where(weight > 0, weight, 1), centers)
            if np.array_equal(moved, centers):
                break
            centers = np.sort(moved)
        return centers

    def error(self, centers: Float64Array) -> float:
        """Sum of squared distances from the nearest center."""
        ends = self._ends(centers)
        weight, first, second = (np.diff(total[ends]) for total in self._totals)
        return float((second - 2 * centers * first + centers**2 * weight).sum())

    def _ends(self, centers: Float64Array) -> Indices:
        """From which value on each center is the nearest, and how many values there are."""
        inner = np.searchsorted(self.values, (centers[1:] + centers[:-1]) / 2, "right")
        return np.concatenate([[0], inner, [self.values.size]])
