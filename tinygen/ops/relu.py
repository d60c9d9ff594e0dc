"""Rectifiers that stand alone: ReLU, ReLU6, ReLU in [-1, 1], and leaky ReLU."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.types import DType, Float32Array
from tinygen.ops.checks import check_scaling
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize
from tinygen.ops.unary import MAX_WIDE_SHIFT, Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class Relu(Unary):
    """A clamp, after requantization where input and output differ in scale or zero point."""

    takes_int16: ClassVar[bool] = True

    activation: Activation

    @property
    def scaling(self) -> Multiplier:
        """From the input's scale to the output's; in float32, as LiteRT has it."""
        return quantize_multiplier(float(np.float32(self.input.type.scale) / np.float32(self.output.type.scale)))

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype is DType.INT16:
            check_scaling("input", self.scaling, MAX_WIDE_SHIFT)

    @property
    def clamp(self) -> Clamp:
        """The range that the activation leaves of the output."""
        return Clamp.of(self.activation, self.output.type)

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = self.scaling
        return self.clamp.apply(requantize(centered, scaling.multiplier, scaling.shift) + self.output.type.zero_point)

    def compute(self, real: Float32Array) -> Float32Array:
        return self.clamp.apply_real(real)


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakyRelu(Unary):
    """output = input where it is positive, else alpha * input."""

    takes_int16: ClassVar[bool] = True

    alpha: float

    @property
    def identity(self) -> Multiplier:
        """Requantization of positive inputs; in float32, as LiteRT has it."""
        return quantize_multiplier(float(np.float32(self.input.type.scale) / np.float32(self.output.type.scale)))

    @property
    def slope(self) -> Multiplier:
        """Requantization of negative inputs; the multiplier has the sign of alpha."""
        input_scale, output_scale = np.float32(self.input.type.scale), np.float32(self.output.type.scale)
        slope = float(input_scale * np.float32(self.alpha) / output_scale)
        scaling = quantize_multiplier(abs(slope))
        return Multiplier(-scaling.multiplier, scaling.shift) if slope < 0 else scaling

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype is DType.INT16:
            check_scaling("input", self.identity, MAX_WIDE_SHIFT)
            check_scaling("input times alpha", self.slope, MAX_WIDE_SHIFT)

    def transform(self, centered: Int64Array) -> Int64Array:
        identity, slope = self.identity, self.slope
        positive = requantize(centered, identity.multiplier, identity.shift)
        negative = requantize(centered, abs(slope.multiplier), slope.shift) * (-1 if slope.multiplier < 0 else 1)
        return np.where(centered >= 0, positive, negative) + self.output.type.zero_point

    def compute(self, real: Float32Array) -> Float32Array:
        return np.where(real >= 0, real, real * np.float32(self.alpha))
