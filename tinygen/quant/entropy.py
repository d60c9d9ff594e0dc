"""Thresholds by Kullback-Leibler divergence between the clipped histogram and its quantized form."""

import numpy as np
import numpy.typing as npt

from tinygen.ops.requantize import Int64Array
from tinygen.quant.histogram import BINS, Reals

_SMOOTHING = 1e-4  # counts given to empty bins, taken from the others
_SOPHON_STEP = 128


def kld_bin(magnitudes: Int64Array, bits: int) -> int:
    """i for the threshold at the end of bin i - 1: the candidate of smallest divergence, the first of equal ones.

    The reference is the histogram up to i with the rest added to its last bin; the candidate has 2**(bits - 1) levels
    of equally many bins, the last level the remaining ones too, each spread over its bins that are not empty.
    """
    candidates = range(2 ** (bits - 1), _used(magnitudes) + 1)
    return _best(magnitudes, candidates, 2 ** (bits - 1))


def kld_sophon_bin(magnitudes: Int64Array, bits: int) -> float:
    """As `kld_bin` with every 128th candidate only, and thresholds in the middle of a bin."""
    candidates = range(max(2 ** (bits - 1), _SOPHON_STEP), _used(magnitudes) + 1, _SOPHON_STEP)
    return min(_best(magnitudes, candidates, 2 ** (bits - 1)) + 0.5, BINS)


def kld_ort_bin(signed: Int64Array, levels: int) -> int:
    """i for the thresholds -i and i (in bins), as onnxruntime's collector finds them on a signed histogram.

    Both tails are added to the ends, `levels` levels cover both signs, and shares of a level are cut to integers.
    """
    middle = signed.size // 2
    divergences = [_symmetric_divergence(signed, middle, i, levels) for i in range(levels // 2, middle + 1)]
    return levels // 2 + int(np.argmin(divergences))


def _used(magnitudes: Int64Array) -> int:
    """Bins up to the last one that is not empty."""
    return int(np.flatnonzero(magnitudes)[-1]) + 1


def _best(magnitudes: Int64Array, candidates: range, levels: int) -> int:
    if not candidates:
        return _used(magnitudes)
    counts = magnitudes.astype(np.float64)
    divergences = [_clipped_divergence(counts, i, levels) for i in candidates]
    return candidates[int(np.argmin(divergences))]


def _clipped_divergence(counts: Reals, i: int, levels: int) -> float:
    reference = counts[:i].copy()
    reference[-1] += counts[i:].sum()
    return _divergence(reference, _spread(counts[:i], reference != 0, levels))


def _symmetric_divergence(signed: Int64Array, middle: int, i: int, levels: int) -> float:
    start, end = middle - i, min(middle + i + 1, signed.size)
    reference = signed[start:end].astype(np.float64)
    reference[0] += signed[:start].sum()
    reference[-1] += signed[end:].sum()
    inside = signed[start:end].astype(np.float64)
    covered = inside.size // levels * levels
    sums = inside[:covered].reshape(levels, -1).sum(axis=1)
    sums[-1] += inside[covered:].sum()
    occupied = (reference[:covered] != 0).reshape(levels, -1).sum(axis=1)
    shares = np.trunc(np.divide(sums, occupied, out=np.zeros(levels), where=occupied > 0))
    candidate = np.zeros_like(inside)
    candidate[:covered] = np.repeat(shares, covered // levels)
    return _divergence(reference, candidate)


def _spread(inside: Reals, occupied: npt.NDArray[np.bool_], levels: int) -> Reals:
    """The histogram in `levels` levels, each spread evenly over its occupied bins."""
    starts = np.arange(levels) * (inside.size // levels)
    sums = np.add.reduceat(inside, starts)
    bins = np.add.reduceat(occupied.astype(np.float64), starts)
    shares = np.divide(sums, bins, out=np.zeros(levels), where=bins > 0)
    sizes = np.diff(np.append(starts, inside.size))
    return np.repeat(shares, sizes) * occupied


def _divergence(reference: Reals, candidate: Reals) -> float:
    """KL(reference || candidate) after smoothing and normalization; infinite where the candidate is empty."""
    p, q = _smooth(reference), _smooth(candidate)
    if p is None or q is None:
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log(p / q)))


def _smooth(counts: Reals) -> Reals | None:
    empty = counts == 0
    occupied = counts.size - int(empty.sum())
    if not occupied:
        return None
    return np.where(empty, _SMOOTHING, counts - _SMOOTHING * (counts.size - occupied) / occupied)
