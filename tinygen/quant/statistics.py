"""What calibration remembers of a tensor: a histogram, extremes and moments, of all its values and by channel."""

import math
from weakref import WeakKeyDictionary

import numpy as np

from tinygen.errors import UnsupportedModelError
from tinygen.ir.mapped import blocks
from tinygen.ir.tensor import Tensor
from tinygen.quant.histogram import Floats, Histogram, Reals


class NotFiniteError(ValueError):
    """A value that no range of real numbers holds."""


class Statistics:
    """Statistics of a stream of arrays whose last axis counts channels; memory does not depend on their number."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.count = 0
        self.min = math.inf
        self.max = -math.inf
        self._sums: Reals | None = None  # by channel; None while there are none, or where streams of others are merged
        self._squares = 0.0
        self._total = 0.0

    @property
    def absmax(self) -> float:
        """Largest magnitude."""
        return max(-self.min, self.max) if self.count else 0.0

    @property
    def mean(self) -> float:
        """Mean of all values."""
        return self._total / self.count if self.count else 0.0

    @property
    def second_moment(self) -> float:
        """Mean of all squares."""
        return self._squares / self.count if self.count else 0.0

    @property
    def channel_means(self) -> Reals | None:
        """Mean of each channel, where all arrays had the same channels."""
        return None if self._sums is None else self._sums * (self._sums.size / self.count)

    def add(self, values: Floats) -> None:
        """Take in float32 values; NotFiniteError where one is infinite or no number."""
        low, high = float(values.min()), float(values.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise NotFiniteError("is infinite or no number")
        sums = np.atleast_1d(values.sum(axis=tuple(range(values.ndim - 1)), dtype=np.float64))
        if self.count == 0:
            self._sums = sums
        elif self._sums is not None:
            self._sums = self._sums + sums if self._sums.size == sums.size else None
        self.min = min(self.min, low)
        self.max = max(self.max, high)
        self.count += values.size
        self._total += float(sums.sum())
        flat = values.ravel(order="K")
        with np.errstate(over="ignore"):
            squares = float(np.dot(flat, flat))
        self._squares += squares if np.isfinite(squares) else float(np.square(flat, dtype=np.float64).sum())
        self.histogram.add(values)

    def merge(self, other: "Statistics") -> None:
        """Take in what the other one has; channels are forgotten."""
        self._sums = None
        self.min, self.max = min(self.min, other.min), max(self.max, other.max)
        self.count += other.count
        self._total += other._total
        self._squares += other._squares
        self.histogram.merge(other.histogram)


_OF_CONSTANTS: WeakKeyDictionary[Tensor, Statistics] = WeakKeyDictionary()


def constant_statistics(tensor: Tensor) -> Statistics:
    """The statistics of a constant, which is read in blocks; measured once, as tables may have gigabytes.

    UnsupportedModelError where an element is infinite or no number.
    """
    assert tensor.data is not None
    if tensor not in _OF_CONSTANTS:
        found = Statistics()
        for block in blocks(tensor.data):
            try:
                found.add(block.astype(np.float32, copy=False))
            except NotFiniteError as error:
                raise UnsupportedModelError(
                    f"constant '{tensor.name}': an element {error}, finite numbers were expected. Correct the model."
                ) from None
        _OF_CONSTANTS[tensor] = found
    return _OF_CONSTANTS[tensor]


def merged(parts: "list[Statistics]") -> Statistics:
    """The statistics of several tensors that share one range."""
    if len(parts) == 1:
        return parts[0]
    whole = Statistics()
    for part in parts:
        whole.merge(part)
    return whole
