"""Scales of stored weights: the largest fits in eight bits; with fewer, the error over the whole channel is least.

Powers of two along channels have the least error with any width, too: the one nearest to the largest weight, which the
scheme has for a whole tensor, cuts off up to 30 % of it, and in every second channel.
"""

import numpy as np

from tinygen.ir.types import Array, DType, Quant, stored_limits
from tinygen.quant.histogram import Reals
from tinygen.quant.scheme import Scheme, symmetric_weights

_WIDE = 8  # bits from which the largest weight decides
_CANDIDATES = np.linspace(0.2, 1.0, 81)  # of the scale at which the largest weight fits
_POWERS = np.exp2((-2.51, -1.51, -0.51, 0.49))  # the same: the power of two above it and three below


def weight_quant(weights: Array, dtype: DType, axis: int | None, scheme: Scheme, bits: int | None = None) -> Quant:
    """Scales with zero point 0, along `axis` or per tensor; of single bits the mean magnitude, which has the least
    squared error.
    """
    used = bits or dtype.bits
    if used >= _WIDE and (scheme is not Scheme.POW2 or axis is None):
        return symmetric_weights(weights, dtype, axis, scheme, bits)
    rows = np.moveaxis(weights, axis or 0, 0).reshape(1 if axis is None else weights.shape[axis], -1).astype(np.float64)
    most = stored_limits(dtype, bits)[1]
    scales = _storable(np.abs(rows).mean(axis=1), scheme) if used == 1 else _least_error(rows, most, scheme)
    return Quant(tuple(scales.tolist()), (0,) * len(scales), axis, bits)


def _least_error(rows: Reals, most: int, scheme: Scheme) -> Reals:
    largest = np.abs(rows).max(axis=1) / most
    best, least = _storable(largest, scheme), np.full(len(rows), np.inf)
    for factor in (_POWERS if scheme is Scheme.POW2 else _CANDIDATES)[::-1]:
        scales = _storable(factor * largest, scheme)
        stored = np.clip(np.rint(rows / scales[:, None]), -most, most)
        errors = ((stored * scales[:, None] - rows) ** 2).sum(axis=1)
        is_better = errors < least
        best, least = np.where(is_better, scales, best), np.where(is_better, errors, least)
    return best


def _storable(scales: Reals, scheme: Scheme) -> Reals:
    """As float32, or powers of two; 1 for channels of zeros."""
    usable = np.where(scales > np.finfo(np.float32).tiny, scales, 1.0)
    rounded: Reals = 2.0 ** np.rint(np.log2(usable)) if scheme is Scheme.POW2 else usable.astype(np.float32)
    return rounded.astype(np.float64)
