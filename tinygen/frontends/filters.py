"""Weights that have zero points, in every format."""

from dataclasses import replace

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant
from tinygen.ops.quantize import flip_sign_bit

_OFFSET = 128  # of uint8 above int8


def filters(weights: Tensor) -> Tensor:
    """int8 weights with zero points as operators take them.

    As int8 without where the differences fit, which every kernel takes, else as uint8.
    """
    quant, data = weights.type.quant, weights.data
    if weights.type.dtype is not DType.INT8 or quant is None or data is None or not any(quant.zero_points):
        return weights
    if not all(DType.INT8.min <= zero_point <= DType.INT8.max for zero_point in quant.zero_points):
        return weights  # which operators refuse
    differences = data.astype(np.int16) - _along(quant, data.ndim)
    if abs(differences).max(initial=0) <= DType.INT8.max:
        symmetric = replace(quant, zero_points=(0,) * len(quant.zero_points))
        return replace(weights, type=replace(weights.type, quant=symmetric), data=differences.astype(np.int8))
    lifted = replace(quant, zero_points=tuple(zero_point + _OFFSET for zero_point in quant.zero_points))
    return replace(weights, type=replace(weights.type, dtype=DType.UINT8, quant=lifted), data=flip_sign_bit(data))


def _along(quant: Quant, rank: int) -> "np.typing.NDArray[np.int16]":
    """Zero points that broadcast against stored values."""
    zero_points = np.array(quant.zero_points, np.int16)
    return zero_points.reshape([-1 if axis == quant.axis else 1 for axis in range(rank)])
