"""The two values that signs stand for: those with the smallest squared error over the histogram."""

import numpy as np

from tinygen.ir.types import Quant
from tinygen.quant.histogram import Reals
from tinygen.quant.scheme import Scheme
from tinygen.quant.statistics import Statistics

_CANDIDATES = 512  # of the upper value, where the lower one is 0


def sign_quant(statistics: Statistics, scheme: Scheme) -> Quant:
    """Scale s and zero point of signs: -s and s (zero point 0), or 0 and 2s (zero point -1).

    Of both symmetric values the mean magnitude is the best. The other pair is for values that are mostly positive, as
    behind rectifiers; symmetric schemes have not got it.
    """
    histogram = statistics.histogram
    counts = histogram.signed.astype(np.float64)
    centers: Reals = (np.arange(counts.size, dtype=np.float64) - counts.size / 2 + 0.5) * histogram.width
    total = counts.sum()
    if not total or statistics.absmax == 0:
        return Quant((1.0,), (0,), bits=1)
    magnitude = float((counts * np.abs(centers)).sum() / total)
    found = [(_error(counts, centers, -magnitude, magnitude), magnitude, 0)]
    if scheme is Scheme.ASYMMETRIC and statistics.max > 0:
        uppers = statistics.max * np.arange(1, _CANDIDATES + 1) / _CANDIDATES
        errors = [_error(counts, centers, 0.0, float(upper)) for upper in uppers]
        best = int(np.argmin(errors))
        found.append((errors[best], float(uppers[best]) / 2, -1))
    _, scale, zero_point = min(found)
    if scheme is Scheme.POW2:
        scale = 2.0 ** round(np.log2(scale))
    return Quant((float(np.float32(scale)) or 1.0,), (zero_point,), bits=1)


def _error(counts: Reals, centers: Reals, low: float, high: float) -> float:
    nearest = np.where(centers >= (low + high) / 2, high, low)
    return float((counts * (centers - nearest) ** 2).sum())
