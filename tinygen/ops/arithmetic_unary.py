"""Arithmetic functions of one input: absolute value, negation, square."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.checks import check_scaling
from tinygen.ops.precision import requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize
from tinygen.ops.unary import MAX_WIDE_SHIFT, Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class Abs(Unary):
    """output = |input|."""

    takes_int16: ClassVar[bool] = True

    @property
    def scaling(self) -> Multiplier:
        """From the input's scale to the output's; in float32, as LiteRT has it."""
        return quantize_multiplier(float(np.float32(self.input.type.scale) / np.float32(self.output.type.scale)))

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype is DType.INT16:
            check_scaling("input", self.scaling, MAX_WIDE_SHIFT)

    def precision_points(self) -> tuple[Point, ...]:
        is_wide = self.output.type.dtype is DType.INT16
        return requantized(self.output) if is_wide else super().precision_points()

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = self.scaling
        return requantize(np.abs(centered), scaling.multiplier, scaling.shift) + self.output.type.zero_point

    def compute(self, real: Float32Array) -> Float32Array:
        return np.abs(real)


@dataclass(frozen=True, eq=False, kw_only=True)
class Negate(Unary):
    """output = -input on stored values, which wrap: -(-128) is -128, as LiteRT has it."""

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype.is_real:
            return
        if self.input.type.quant != self.output.type.quant or self.input.type.zero_point:
            raise ValueError(
                f"'{self.input.name}' and '{self.output.name}' must have the same quantization with zero point 0: "
                "TFLite negates stored values"
            )

    def transform(self, centered: Int64Array) -> Int64Array:
        return (-centered).astype(np.int8).astype(np.int64)

    def compute(self, real: Float32Array) -> Float32Array:
        return -real


@dataclass(frozen=True, eq=False, kw_only=True)
class Square(Unary):
    """output = input * input, with the arithmetic of a multiplication."""

    def transform(self, centered: Int64Array) -> Int64Array:
        scale = np.float32(self.input.type.scale)
        scaling = quantize_multiplier(float(scale * scale / np.float32(self.output.type.scale)))
        return requantize(centered * centered, scaling.multiplier, scaling.shift) + self.output.type.zero_point

    def compute(self, real: Float32Array) -> Float32Array:
        return np.square(real)
