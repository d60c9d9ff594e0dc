"""Weights as stored integers: to the nearest, or to the other neighbour where the table says so."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array, DType, Quant, along, stored_limits
from tinygen.ops.quantize import stored
from tinygen.quant.histogram import Reals


def along_axis(quant: Quant, rank: int) -> Reals:
    """The scales, in a shape that broadcasts with weights of that rank."""
    return along(np.asarray(quant.scales, np.float64), quant.axis, rank)


Stored = npt.NDArray[np.int8] | npt.NDArray[np.int16]


def stored_weights(weights: Array, quant: Quant, flips: Sequence[int] = (), dtype: DType = DType.INT8) -> Stored:
    """Weights of at most the type's largest magnitude; `flips` are the flat indices of those that are rounded to their
    other neighbour.
    """
    nearest = _nearest(weights, quant, dtype)
    if not flips:
        return nearest
    steps = other_neighbour(weights, nearest, quant, dtype)
    chosen = nearest.copy().reshape(-1)
    indices = np.asarray(flips, np.int64)
    chosen[indices] += steps.reshape(-1)[indices]
    most = stored_limits(dtype, quant.bits)[1]
    chosen.clip(-most, most, out=chosen)
    return chosen.reshape(nearest.shape)


def other_neighbour(weights: Array, nearest: Stored, quant: Quant, dtype: DType = DType.INT8) -> npt.NDArray[np.int8]:
    """Per weight the step from its nearest integer across its real value; of single bits, to the other sign."""
    if _is_sign(quant, dtype):
        return (-2 * nearest).astype(np.int8)
    real = weights.astype(np.float64) / along_axis(quant, weights.ndim)
    return np.where(real >= nearest, 1, -1).astype(np.int8)


def _nearest(weights: Array, quant: Quant, dtype: DType) -> Stored:
    if _is_sign(quant, dtype):
        return np.where(weights.astype(np.float64) >= 0, 1, -1).astype(np.int8)
    found = stored(weights, quant, dtype, narrow=True)
    return found.astype(np.int16) if dtype is DType.INT16 else found.astype(np.int8)


def _is_sign(quant: Quant, dtype: DType) -> bool:
    return (quant.bits or dtype.bits) == 1
