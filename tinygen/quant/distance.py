"""Ranges of smallest quantization error, summed over the bins of a histogram."""

import numpy as np

from tinygen.ops.requantize import Int64Array
from tinygen.quant.histogram import BINS, Reals
from tinygen.quant.scheme import RealRange

_CHUNK = 128  # candidates at a time, so that intermediate arrays stay small
_GRID = 64
_REFINEMENTS = 3
_FINER = 8
_ENDS = 512
_TURNS = 8


def best_threshold(magnitudes: Int64Array, width: float, absmax: float, power: int, steps: int) -> float:
    """Of T = i * absmax / 2048 the one of smallest sum |q(c) - c|**power over bin centres; the first of equal ones.

    q rounds to multiples of T / steps, halves to even, and saturates at T.
    """
    thresholds = np.arange(1, BINS + 1) * absmax / BINS
    errors = interval_errors(_Bins.of(magnitudes, width, 0.0), np.zeros(BINS), thresholds, power, steps)
    return float(thresholds[int(np.argmin(errors))])


def best_range(signed: Int64Array, width: float, limits: RealRange, power: int, steps: int) -> RealRange:
    """The range of smallest error with any zero point: a 64 x 64 grid within `limits`, refined around its best cell."""
    bins = _Bins.of(signed, width, -width * (signed.size // 2))
    if limits.low >= 0 or limits.high <= 0:  # one of the ends is zero: 2048 candidates for the other one
        sizes = np.arange(1, BINS + 1) / BINS
        lows, highs = sizes * min(limits.low, 0), sizes * max(limits.high, 0)
        best = int(np.argmin(interval_errors(bins, lows, highs, power, steps)))
        return RealRange(float(lows[best]), float(highs[best]))
    low, high = limits.low, limits.high
    cells = np.arange(1, _GRID + 1) / _GRID
    candidates = cells * low, cells * high
    step_low, step_high = low / _GRID, high / _GRID
    for _ in range(_REFINEMENTS):
        low, high = _best_pair(bins, *candidates, power, steps)
        around = np.arange(-_FINER, _FINER + 1) / _FINER
        candidates = (
            np.clip(low + around * step_low, limits.low, 0),
            np.clip(high + around * step_high, 0, limits.high),
        )
        step_low, step_high = step_low / _FINER, step_high / _FINER
    return RealRange(low, high)


def alternating_range(signed: Int64Array, width: float, limits: RealRange, power: int, steps: int) -> RealRange:
    """As `best_range` by turns: the best of 512 lower ends, then of 512 upper ends, until neither changes."""
    bins = _Bins.of(signed, width, -width * (signed.size // 2))
    cells = np.arange(1, _ENDS + 1) / _ENDS
    low, high = min(limits.low, 0.0), max(limits.high, 0.0)
    for _ in range(_TURNS):
        before = low, high
        if high > 0:
            highs = cells * limits.high
            high = float(highs[np.argmin(interval_errors(bins, np.full(_ENDS, low), highs, power, steps))])
        if low < 0:
            lows = cells * limits.low
            low = float(lows[np.argmin(interval_errors(bins, lows, np.full(_ENDS, high), power, steps))])
        if (low, high) == before:
            break
    return RealRange(low, high)


class _Bins:
    """Centres and counts of the bins that are not empty."""

    def __init__(self, centres: Reals, counts: Reals) -> None:
        self.centres, self.counts = centres, counts

    @classmethod
    def of(cls, counts: Int64Array, width: float, start: float) -> "_Bins":
        occupied = np.flatnonzero(counts)
        return cls(start + (occupied.astype(np.float64) + 0.5) * width, counts[occupied].astype(np.float64))


def interval_errors(bins: _Bins, lows: Reals, highs: Reals, power: int, steps: int) -> Reals:
    """Per candidate, the sum of errors when values are rounded to `steps` equal steps from low to high."""
    parts = [
        _errors(bins, lows[first : first + _CHUNK], highs[first : first + _CHUNK], power, steps)
        for first in range(0, len(lows), _CHUNK)
    ]
    return np.concatenate(parts)


def _errors(bins: _Bins, lows: Reals, highs: Reals, power: int, steps: int) -> Reals:
    scale = np.maximum((highs - lows) / steps, np.finfo(np.float64).tiny)[:, np.newaxis]
    zero = np.rint(-lows[:, np.newaxis] / scale)  # steps below zero
    levels = np.rint(bins.centres / scale)
    np.clip(levels, -zero, steps - zero, out=levels)
    errors = np.abs(levels * scale - bins.centres)
    result: Reals = (errors if power == 1 else errors**power) @ bins.counts
    return result


def _best_pair(bins: _Bins, lows: Reals, highs: Reals, power: int, steps: int) -> tuple[float, float]:
    all_lows, all_highs = (grid.reshape(-1) for grid in np.meshgrid(lows, highs, indexing="ij"))
    best = int(np.argmin(interval_errors(bins, all_lows, all_highs, power, steps)))
    return float(all_lows[best]), float(all_highs[best])
