"""Weights as int8, by the formulas of the seed: in float32, halves rounded to even, saturated."""

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Float32Array, Quant, TensorType
from tinygen.quant.dynamic.scheme import DynamicScheme, Granularity, Symmetry

_LEAST, _MOST = -128, 127
_STEPS = np.float32(_MOST - _LEAST)


def quantized_weights(weights: Tensor, channel_axis: int, scheme: DynamicScheme, name: str) -> Tensor:
    """Constant float32 weights as int8, per tensor or along `channel_axis`.

    Symmetric: scale = max|w| / 127, from -127 to 127. Asymmetric: scale = (max(0, w) - min(0, w)) / 255, zero point
    round(clip(-128 - min / scale)). Of zeros alone the scale is 1.
    """
    assert weights.data is not None
    real = weights.data.astype(np.float32)
    by_channel = scheme.granularity is Granularity.CHANNEL
    axes = tuple(axis for axis in range(real.ndim) if not by_channel or axis != channel_axis)
    find = _symmetric if scheme.weights is Symmetry.SYMMETRIC else _asymmetric
    scales, zero_points, least = find(real, axes)
    with np.errstate(all="ignore"):
        stored = np.clip(np.rint(np.divide(real, scales)) + zero_points, least, _MOST).astype(np.int8)
    numbers = tuple(float(scale) for scale in scales.reshape(-1))
    quant = Quant(numbers, tuple(int(z) for z in zero_points.reshape(-1)), channel_axis if by_channel else None)
    return Tensor(name, TensorType(DType.INT8, stored.shape, quant), stored)


def _symmetric(real: Float32Array, axes: tuple[int, ...]) -> tuple[Float32Array, Float32Array, int]:
    largest = np.maximum(real.max(axis=axes, keepdims=True), -real.min(axis=axes, keepdims=True))
    scales = np.where(largest > 0, largest / np.float32(_MOST), np.float32(1))
    return scales.astype(np.float32), np.zeros(scales.shape, np.float32), -_MOST


def _asymmetric(real: Float32Array, axes: tuple[int, ...]) -> tuple[Float32Array, Float32Array, int]:
    low = np.minimum(real.min(axis=axes, keepdims=True), np.float32(0))
    high = np.maximum(real.max(axis=axes, keepdims=True), np.float32(0))
    scales = np.where(high > low, (high - low) / _STEPS, np.float32(1))
    zero_points = np.rint(np.clip(_LEAST - low / scales, _LEAST, _MOST))
    return scales.astype(np.float32), zero_points.astype(np.float32), _LEAST
