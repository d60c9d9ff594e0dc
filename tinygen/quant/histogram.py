"""Histograms of streams of values: memory and result do not depend on how the values arrive."""

import math

import numpy as np
import numpy.typing as npt

from tinygen.ops.requantize import Int64Array

BINS = 2048  # of magnitudes
_SMALLEST_EXPONENT = -100  # of the range; smaller magnitudes all lie in the first bin

Reals = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


class Histogram:
    """Counts of magnitudes in `BINS` bins of equal width, negative values apart from the others.

    The range is the power of two above the largest magnitude. It doubles by merging pairs of bins, and bins have edges
    that are exact in float32: the counts are those of one histogram over all values, whatever their order.
    """

    def __init__(self) -> None:
        self._exponent = _SMALLEST_EXPONENT
        self._counts = np.zeros((2, BINS), np.int64)  # not negative, negative

    @property
    def width(self) -> float:
        """Width of a bin."""
        return math.ldexp(1.0, self._exponent) / BINS

    @property
    def magnitudes(self) -> Int64Array:
        """Counts of |x|: bin i holds [i, i + 1) * width."""
        counts: Int64Array = self._counts.sum(axis=0)
        return counts

    @property
    def signed(self) -> Int64Array:
        """Counts of x in 2 * BINS bins from -BINS * width to BINS * width."""
        return np.concatenate([self._counts[1, ::-1], self._counts[0]])

    def add(self, values: Floats) -> None:
        """Count finite float32 values."""
        if values.size == 0:
            return
        low, high = float(values.min()), float(values.max())
        self._grow(math.frexp(max(-low, high))[1])
        flat = values.ravel(order="K")  # as it lies in memory: no copy for images in another order of axes
        magnitudes = np.abs(flat) if low < 0 else flat
        bins = (magnitudes * np.float32(1 / self.width)).astype(np.int64)
        if low < 0:
            bins += BINS * (flat < 0)
        self._counts += np.bincount(bins, minlength=2 * BINS).reshape(2, BINS)

    def merge(self, other: "Histogram") -> None:
        """Count what the other one has counted."""
        self._grow(other._exponent)
        self._counts += _doubled(other._counts, self._exponent - other._exponent)

    def _grow(self, exponent: int) -> None:
        """Make the range at least 2**exponent."""
        if exponent > self._exponent:
            self._counts = _doubled(self._counts, exponent - self._exponent)
            self._exponent = exponent


def _doubled(counts: Int64Array, times: int) -> Int64Array:
    """The counts in bins that are 2**times as wide."""
    for _ in range(min(times, BINS.bit_length())):  # after that all counts are in the first bin
        merged = counts.reshape(2, BINS // 2, 2).sum(axis=2)
        counts = np.concatenate([merged, np.zeros_like(merged)], axis=1)
    return counts
