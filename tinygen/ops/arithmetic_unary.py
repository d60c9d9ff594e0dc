"""Arithmetic functions of one input: absolute value, negation, square."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.types import Float32Array
from tinygen.ops.requantize import Int64Array, quantize_multiplier, requantize
from tinygen.ops.unary import Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class Abs(Unary):
    """output = |input|."""

    def transform(self, centered: Int64Array) -> Int64Array:
        factor = float(np.float32(self.input.type.scale) / np.float32(self.output.type.scale))
        scaling = quantize_multiplier(factor)
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
