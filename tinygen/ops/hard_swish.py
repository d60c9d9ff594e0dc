"""Hard swish: x * relu6(x + 3) / 6; of int8 in 16-bit fixed point."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.types import Float32Array
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier
from tinygen.ops.unary import Unary

_INPUT_SHIFT = 7  # puts the 9 significant bits of a centered input at the top of 16
_Q15_MAX = (1 << 15) - 1
_FULL_SHIFT = 16  # a larger left shift saturates no further


@dataclass(frozen=True, eq=False, kw_only=True)
class HardSwish(Unary):
    """Hard swish; of int8 as TFLite's reference computes it, with 16-bit registers throughout."""

    @property
    def output_scaling(self) -> Multiplier:
        """From the shifted input to the output's scale: 16-bit multiplier, shift <= 0."""
        return _multiplier16(self._shifted_scale / np.float32(self.output.type.scale))

    @property
    def reluish_scaling(self) -> Multiplier:
        """From the shifted input to a scale where 32768 stands for 3: 16-bit multiplier and shift."""
        return _multiplier16(self._shifted_scale / (np.float32(3) / np.float32(1 << 15)))

    def verify(self) -> None:
        super().verify()
        if not self.output.type.dtype.is_real and self.output_scaling.shift > 0:
            raise ValueError(
                f"input scale {self.input.type.scale} is over {1 << _INPUT_SHIFT} times "
                f"the output scale {self.output.type.scale}"
            )

    def transform(self, centered: Int64Array) -> Int64Array:
        shifted = centered << _INPUT_SHIFT
        output_scaling = self.output_scaling
        preshift = _high_multiply(shifted, output_scaling.multiplier)
        reluish = (_rescale(shifted, self.reluish_scaling) + (1 << 15)) >> 1
        product = np.trunc(reluish * preshift / (1 << 15)).astype(np.int64)
        stored = _shift_right(product, -output_scaling.shift) + self.output.type.zero_point
        return stored.astype(np.int16).astype(np.int64)

    def compute(self, real: Float32Array) -> Float32Array:
        gate: Float32Array = np.clip(real + np.float32(3), np.float32(0), np.float32(6))
        return real * gate * np.float32(1 / 6)

    @property
    def _shifted_scale(self) -> np.float32:
        return np.float32(self.input.type.scale) / np.float32(1 << _INPUT_SHIFT)


def _rescale(values: Int64Array, scaling: Multiplier) -> Int64Array:
    """values * scaling, saturating: the last bit of a left shift comes after the product."""
    if scaling.shift > 0:
        early = _saturate(values << min(scaling.shift - 1, _FULL_SHIFT))
        return _saturate(_high_multiply(early, scaling.multiplier) << 1)
    return _shift_right(_high_multiply(values, scaling.multiplier), -scaling.shift)


def _high_multiply(values: Int64Array, multiplier: int) -> Int64Array:
    """round(values * multiplier / 2**15), halves up."""
    return (values * multiplier + (1 << 14)) >> 15


def _shift_right(values: Int64Array, bits: int) -> Int64Array:
    """values / 2**bits, halves away from zero; with a 16-bit mask, so that from 16 bits on numbers round outwards."""
    mask = int(np.array((1 << bits) - 1).astype(np.int16))
    threshold = (mask >> 1) + (values < 0)
    return (values >> bits) + ((values & mask) > threshold)


def _saturate(values: Int64Array) -> Int64Array:
    return np.clip(values, -_Q15_MAX - 1, _Q15_MAX)


def _multiplier16(real: np.float32) -> Multiplier:
    scaling = quantize_multiplier(float(real))
    return Multiplier(min((scaling.multiplier + (1 << 15)) >> 16, _Q15_MAX), scaling.shift)
