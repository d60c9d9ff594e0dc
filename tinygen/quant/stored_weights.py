"""Weights as stored integers: to the nearest, or to the other neighbour where the table says so."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array, DType, Quant
from tinygen.quant.histogram import Reals
from tinygen.quant.scheme import stored


def along_axis(quant: Quant, rank: int) -> Reals:
    """The scales, in a shape that broadcasts with weights of that rank."""
    scales = np.asarray(quant.scales, np.float64)
    if quant.is_per_tensor or quant.axis is None:
        return scales.reshape(())
    return scales.reshape([-1 if axis == quant.axis else 1 for axis in range(rank)])


def stored_weights(weights: Array, quant: Quant, flips: Sequence[int] = ()) -> npt.NDArray[np.int8]:
    """int8 weights in [-127, 127]; `flips` are the flat indices of those that are rounded to their other neighbour."""
    nearest = stored(weights, quant, DType.INT8, narrow=True).astype(np.int8)
    if not flips:
        return nearest
    steps = other_neighbour(weights, nearest, quant)
    chosen = nearest.copy().reshape(-1)
    indices = np.asarray(flips, np.int64)
    chosen[indices] += steps.reshape(-1)[indices]
    return np.clip(chosen, -DType.INT8.max, DType.INT8.max).reshape(nearest.shape)


def other_neighbour(weights: Array, nearest: npt.NDArray[np.int8], quant: Quant) -> npt.NDArray[np.int8]:
    """Per weight the step of 1 or -1 from its nearest integer across its real value."""
    real = weights.astype(np.float64) / along_axis(quant, weights.ndim)
    return np.where(real >= nearest, 1, -1).astype(np.int8)
