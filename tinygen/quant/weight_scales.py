"""Scales of stored weights: the largest fits in eight bits; with fewer, the error over the whole channel is least."""

import numpy as np

from tinygen.ir.types import Array, DType, Quant
from tinygen.quant.histogram import Reals
from tinygen.quant.scheme import Scheme, symmetric_weights

_CANDIDATES = np.linspace(0.2, 1.0, 81)  # of the scale at which the largest weight fits


def weight_quant(weights: Array, dtype: DType, axis: int, scheme: Scheme) -> Quant:
    """Scales with zero point 0 along `axis`; of single bits the mean magnitude, which has the least squared error."""
    if not dtype.is_narrow:
        return symmetric_weights(weights, dtype, axis, scheme)
    rows = np.moveaxis(weights.astype(np.float64), axis, 0).reshape(weights.shape[axis], -1)
    is_sign = dtype is DType.INT1
    scales = _storable(np.abs(rows).mean(axis=1), scheme) if is_sign else _least_error(rows, dtype, scheme)
    return Quant(tuple(scales.tolist()), (0,) * len(scales), axis)


def _least_error(rows: Reals, dtype: DType, scheme: Scheme) -> Reals:
    largest = np.abs(rows).max(axis=1) / dtype.max
    best, least = _storable(largest, scheme), np.full(len(rows), np.inf)
    for factor in _CANDIDATES[::-1]:
        scales = _storable(factor * largest, scheme)
        stored = np.clip(np.rint(rows / scales[:, None]), -dtype.max, dtype.max)
        errors = ((stored * scales[:, None] - rows) ** 2).sum(axis=1)
        is_better = errors < least
        best, least = np.where(is_better, scales, best), np.where(is_better, errors, least)
    return best


def _storable(scales: Reals, scheme: Scheme) -> Reals:
    """As float32, or powers of two; 1 for channels of zeros."""
    usable = np.where(scales > np.finfo(np.float32).tiny, scales, 1.0)
    rounded: Reals = 2.0 ** np.rint(np.log2(usable)) if scheme is Scheme.POW2 else usable.astype(np.float32)
    return rounded.astype(np.float64)
