"""From a range of real values to scale and zero point."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tinygen.ir.types import Array, DType, Quant, stored_limits


class Scheme(StrEnum):
    """How stored values stand for real ones: real = scale * (stored - zero point)."""

    ASYMMETRIC = "asymmetric"
    SYMMETRIC = "symmetric"  # zero point 0
    POW2 = "pow2"  # symmetric, and the scale is a power of two


@dataclass(frozen=True)
class RealRange:
    """Real values that are stored without saturation."""

    low: float
    high: float

    @property
    def magnitude(self) -> float:
        """The larger of both magnitudes."""
        return max(-self.low, self.high, 0.0)


def affine(range: RealRange, dtype: DType, scheme: Scheme, bits: int | None = None) -> Quant:
    """Scale (a float32) and zero point of activations. `bits` as in `Quant`.

    An empty range is taken as one that reaches 1: what only zeros were seen of must not be so coarse beside the tensors
    that it is added to, or the products of a layer that reads it, that these have no stored form.
    """
    least, most = stored_limits(dtype, bits)
    if scheme is Scheme.ASYMMETRIC:
        low, high = min(range.low, 0.0), max(range.high, 0.0)
        scale = _float32((high - low) / (most - least))
        if scale == 0:
            return Quant((_float32(1 / (most - least)),), (least,), bits=bits)
        zero_point = round(min(max(least - low / scale, least), most))
        return Quant((scale,), (zero_point,), bits=bits)
    steps = most + (scheme is Scheme.POW2)
    magnitude = _power_of_two_above(range.magnitude) if scheme is Scheme.POW2 else range.magnitude
    return Quant((_float32(magnitude / steps) or _float32(1 / steps),), (0,), bits=bits)


def symmetric_weights(weights: Array, dtype: DType, axis: int | None, scheme: Scheme, bits: int | None = None) -> Quant:
    """Scales of weights with zero point 0, along `axis` or per tensor; the smallest stored value is never used."""
    most = stored_limits(dtype, bits)[1]
    axes = tuple(i for i in range(weights.ndim) if i != axis)
    largest = np.abs(weights).max(axis=axes) if axis is not None else np.abs(weights).max()
    magnitudes = np.atleast_1d(np.asarray(largest, np.float64))
    if scheme is Scheme.POW2:
        scales = [_float32(_nearest_power_of_two(float(m)) / (most + 1)) or 1.0 for m in magnitudes]
    else:
        scales = [_float32(float(m) / most) or 1.0 for m in magnitudes]
    return Quant(tuple(scales), (0,) * len(scales), axis, bits)


def qm_n(quant: Quant, dtype: DType) -> int | None:
    """Fractional bits where the one scale is a power of two."""
    mantissa, exponent = math.frexp(quant.scales[0])
    return 1 - exponent if quant.is_per_tensor and mantissa == 0.5 and dtype.is_integer else None


def _float32(value: float) -> float:
    """As float32; 0 below its normal numbers: others are so coarse that thousands of steps would miss a range."""
    scale = float(np.float32(value))
    return scale if scale >= np.finfo(np.float32).tiny else 0.0


def _power_of_two_above(magnitude: float) -> float:
    if magnitude == 0:
        return 0.0
    mantissa, exponent = math.frexp(magnitude)
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def _nearest_power_of_two(magnitude: float) -> float:
    return 2.0 ** round(math.log2(magnitude)) if magnitude else 0.0
