"""Square root and its reciprocal."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.precision import requantized
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    quantize_multiplier,
    requantize,
)
from tinygen.ops.unary import Unary

_DATA_SHIFT = 20  # fraction bits of the reciprocal root between its two roundings
_LEAST_SHIFT = -31  # of 32 bits to the right
_Q31_MAX = (1 << 31) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Sqrt(Unary):
    """output = sqrt(input) in float32, truncated as in LiteRT; 0 for negative inputs, which LiteRT refuses to run."""

    def transform(self, centered: Int64Array) -> Int64Array:
        real = np.float32(self.input.type.scale) * np.maximum(centered, 0).astype(np.float32)
        truncated: Int64Array = np.trunc(np.sqrt(real) / np.float32(self.output.type.scale)).astype(np.int64)
        return truncated + self.output.type.zero_point

    def compute(self, real: Float32Array) -> Float32Array:
        return np.sqrt(real)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rsqrt(Unary):
    """output = 1 / sqrt(input) in fixed point; the largest output for 0 and, where LiteRT refuses to run, below.

    Of int16 too, as TFLite Micro has it; LiteRT's differ there, most for small inputs.
    """

    takes_int16: ClassVar[bool] = True

    @property
    def differs_in_litert(self) -> bool:
        return self.output.type.dtype is DType.INT16

    @property
    def scaling(self) -> Multiplier:
        """From reciprocal roots of stored inputs, with 20 fraction bits, to the output."""
        root = np.sqrt(np.float32(self.input.type.scale)) * np.float32(self.output.type.scale)
        scaling = quantize_multiplier(1.0 / float(root))
        return Multiplier(scaling.multiplier, scaling.shift - _DATA_SHIFT)

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype is DType.INT16 and self.scaling.shift < _LEAST_SHIFT:
            raise ValueError(f"output '{self.output.name}' has scale {self.output.type.scale}, too large for any root")

    def precision_points(self) -> tuple[Point, ...]:
        if self.output.type.dtype is not DType.INT16:
            return super().precision_points()
        return (Point("root", "five Newton-Raphson steps, 20 fraction bits"), *requantized(self.output))

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = self.scaling
        roots = {value: _fixed(inverse_sqrt(value)) for value in np.unique(np.maximum(centered, 1)).tolist()}
        fixed = np.array([roots[max(value, 1)] for value in centered.reshape(-1).tolist()], np.int64)
        stored = requantize(fixed, scaling.multiplier, scaling.shift) + self.output.type.zero_point
        return np.where(centered > 0, stored.reshape(centered.shape), self.output.type.max)

    def compute(self, real: Float32Array) -> Float32Array:
        return np.reciprocal(np.sqrt(real))


def inverse_sqrt(value: int) -> Multiplier:
    """1 / sqrt(value) for value in [1, 2**31): gemmlowp's Newton-Raphson iteration in Q3.28, 5 steps from 1."""
    if value == 1:
        return Multiplier(_Q31_MAX, 0)
    pairs = (31 - value.bit_length()) // 2 - 1  # of bits, to bring the value into [2**27, 2**29)
    scaled = value << 2 * pairs if pairs >= 0 else value >> 2
    half_input = ((scaled >> 1) + 1) >> 1
    half_three = 3 << 27
    x = 1 << 28
    for _ in range(5):
        cube = _saturate(_multiply(_multiply(x, x), x) << 6)
        x = _saturate((_multiply(half_three, x) - _multiply(half_input, cube)) << 3)
    half_root_of_two = round(math.sqrt(0.5) * (1 << 31))
    return Multiplier(_multiply(x, half_root_of_two) << max(pairs - 11, 0), min(pairs - 11, 0))


def _fixed(root: Multiplier) -> int:
    return int(requantize(np.array([1]), root.multiplier, root.shift + _DATA_SHIFT)[0])


def _multiply(a: int, b: int) -> int:
    return (a * b + (1 << 30)) >> 31


def _saturate(value: int) -> int:
    return min(max(value, -_Q31_MAX - 1), _Q31_MAX)
