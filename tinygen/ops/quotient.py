"""Quotients of two tensors; angles and powers, which are of float32 only."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.binary import Binary
from tinygen.ops.checks import check_dtype, check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.exponential import one_over_one_plus
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

_MAX_SHIFT = 22  # what is divided has that many bits of headroom, by which it was shifted to the left
_BEYOND = 1 << 9  # steps of int8 between any two numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Div(Binary):
    """output = first / second, broadcast as in numpy.

    Of int8 as TFLite Micro computes it: times the reciprocal of the divisor, rounded three times. Where it stops or
    leaves it open, what is divided by 0 is the largest or smallest output, and 0 by 0 is 0.
    """

    clamp: Clamp

    @property
    def scaling(self) -> Multiplier:
        """From the quotient's scale to the output's; in float32, as LiteRT has it."""
        first, second, output = (np.float32(t.type.scale) for t in (self.first, self.second, self.output))
        return quantize_multiplier(float(first / (second * output)))

    def precision_points(self) -> tuple[Point, ...]:
        reciprocal = Point("reciprocal", "of the divisor, Q0.31, three Newton-Raphson steps")
        return (*offsets(self.first, self.second), reciprocal, *requantized(self.output))

    def verify(self) -> None:
        super().verify()
        if not self.output.type.dtype.is_real:
            check_scaling("quotient", self.scaling, _MAX_SHIFT)
        self.clamp.verify(self.output.type)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        dividend, divisor = np.where(second < 0, -first, first), np.abs(second)
        bits = np.frexp(np.maximum(divisor, 1).astype(np.float64))[1].astype(np.int64)
        reciprocal = one_over_one_plus((np.maximum(divisor, 1) << (32 - bits)) - (1 << 31))
        room = 31 - np.frexp(np.where(dividend < 0, ~dividend, dividend).astype(np.float64))[1].astype(np.int64)
        quotient = requantize(dividend, reciprocal, room)
        scaled = requantize(quotient, self.scaling.multiplier, self.scaling.shift - (bits - 1) - room)
        stored = np.where(second == 0, np.sign(first) * _BEYOND, scaled) + self.output.type.zero_point
        return self.clamp.apply(stored)

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            return self.clamp.apply_real(first / second)


@dataclass(frozen=True, eq=False, kw_only=True)
class _OfFloats(Binary):
    """Of float32 only."""

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def verify(self) -> None:
        check_dtype("output", self.output, DType.FLOAT32)
        super().verify()


@dataclass(frozen=True, eq=False, kw_only=True)
class Power(_OfFloats):
    """output = first ** second, broadcast as in numpy."""

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            powers: Float32Array = np.power(first.astype(np.float64), second.astype(np.float64)).astype(np.float32)
        return powers


@dataclass(frozen=True, eq=False, kw_only=True)
class Angle(_OfFloats):
    """output = the angle of the point (second, first) in radians, from -pi to pi, broadcast as in numpy."""

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        angles: Float32Array = np.arctan2(first.astype(np.float64), second.astype(np.float64)).astype(np.float32)
        return angles
