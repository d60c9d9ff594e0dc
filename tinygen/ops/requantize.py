"""Requantization as CMSIS-NN and TFLite Micro do it: a Q31 multiplier and a shift, rounded twice.

Source of the formulas: gemmlowp's fixed point (saturating rounding doubling high multiply, rounding divide by a power
of two), as used by `MultiplyByQuantizedMultiplier` of TFLite and `arm_nn_requantize` of CMSIS-NN.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.ir.channels import Intervals

Int64Array = npt.NDArray[np.int64]
Int8Array = npt.NDArray[np.int8]

_Q31_ONE = 1 << 31
_MAX_SHIFT = 30
_MIN_SHIFT = -31
_INT32_END = 1 << 31


@dataclass(frozen=True)
class Multiplier:
    """real = multiplier * 2**(shift - 31); multiplier in [2**30, 2**31) or 0, shift in [-31, 30]."""

    multiplier: int
    shift: int


def quantize_multiplier(real: float) -> Multiplier:
    """The Q31 multiplier and shift nearest to a non-negative real factor (TFLite's QuantizeMultiplier)."""
    if not (real >= 0 and math.isfinite(real)):
        raise ValueError(f"requantization factor {real} is not a finite number >= 0")
    fraction, shift = math.frexp(real)
    mantissa = round_half_away(fraction * _Q31_ONE)
    if mantissa == _Q31_ONE:
        mantissa, shift = mantissa // 2, shift + 1
    if shift < _MIN_SHIFT:
        return Multiplier(0, 0)
    if shift > _MAX_SHIFT:
        return Multiplier(_Q31_ONE - 1, _MAX_SHIFT)
    return Multiplier(mantissa, shift)


def round_half_away(value: float) -> int:
    """The nearest integer; halves go away from zero, as C's round()."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def doubling_high_multiply(a: Int64Array, b: Int64Array | int) -> Int64Array:
    """round(a * b / 2**31) of int32 values, halves up; saturates only at (-2**31) * (-2**31)."""
    high: Int64Array = (a * np.asarray(b, np.int64) + (1 << 30)) >> 31
    return np.where(high < _Q31_ONE, high, _Q31_ONE - 1)


def rounding_shift_right(value: Int64Array, bits: Int64Array | int) -> Int64Array:
    """value / 2**bits rounded to nearest, halves away from zero."""
    half = np.where(np.asarray(bits) > 0, np.left_shift(1, np.maximum(np.asarray(bits) - 1, 0), dtype=np.int64), 0)
    shifted: Int64Array = np.where(value >= 0, (value + half) >> bits, -((-value + half) >> bits))
    return shifted


def requantize(value: Int64Array, multiplier: Int64Array | int, shift: Int64Array | int) -> Int64Array:
    """value * multiplier * 2**(shift - 31), rounded twice; multiplier and shift broadcast (per channel: last axis)."""
    left = np.maximum(np.asarray(shift, np.int64), 0)
    right = np.maximum(-np.asarray(shift, np.int64), 0)
    return rounding_shift_right(doubling_high_multiply(wrap_int32(value << left), multiplier), right)


def reduced_multiplier(multiplier: Int64Array) -> Int64Array:
    """The Q31 multipliers rounded to Q15, at most 32767 (TFLite's for 64-bit values)."""
    reduced: Int64Array = np.minimum((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)
    return reduced


def requantize_wide(value: Int64Array, multiplier: Int64Array, shift: Int64Array) -> Int64Array:
    """value * multiplier * 2**(shift - 31) of 48-bit values, with 16 bits of the multiplier; halves up.

    Shifts beyond 14 are none of the reference's; `verify` of the operators refuses them.
    """
    bits = 15 - shift
    product = value * reduced_multiplier(multiplier)
    scaled: Int64Array = (product + np.left_shift(1, bits - 1, dtype=np.int64)) >> bits
    return scaled


def with_zero_point(scaled: Int64Array, zero_point: int) -> Int64Array:
    """Requantized values plus a zero point, modulo 2**32, as TFLite Micro and CMSIS-NN add it."""
    return wrap_int32(scaled + zero_point)


def wrap_int32(value: Int64Array) -> Int64Array:
    """The value modulo 2**32 in [-2**31, 2**31), as 32-bit registers hold it."""
    return value.astype(np.int32).astype(np.int64)


def multiplier_arrays(factors: list[float]) -> tuple[Int64Array, Int64Array]:
    """Multipliers and shifts of real factors, as arrays: of each what `quantize_multiplier` gives."""
    real = np.array(factors, np.float64)
    if not (np.isfinite(real) & (real >= 0)).all():
        raise ValueError(f"requantization factors {factors} are not all finite numbers >= 0")
    fraction, exponent = np.frexp(real)
    multiplier, shift = np.floor(fraction * _Q31_ONE + 0.5).astype(np.int64), exponent.astype(np.int64)
    is_one = multiplier == _Q31_ONE
    multiplier, shift = np.where(is_one, multiplier // 2, multiplier), shift + is_one
    is_nothing, is_most = shift < _MIN_SHIFT, shift > _MAX_SHIFT
    multiplier = np.where(is_nothing, 0, np.where(is_most, _Q31_ONE - 1, multiplier))
    return multiplier, np.where(is_nothing, 0, np.minimum(shift, _MAX_SHIFT))


def requantized_intervals(
    sums: Intervals, multiplier: Int64Array | int, shift: Int64Array | int, zero_point: int
) -> Intervals:
    """Requantization is monotonic as long as 32 bits hold what it shifts to the left; beyond that anything may be."""
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high)) << np.maximum(shift, 0)
    is_safe = largest + abs(zero_point) < _INT32_END
    found = sums.each(lambda ends: requantize(ends, multiplier, shift) + zero_point)
    return Intervals(np.where(is_safe, found.low, -_INT32_END), np.where(is_safe, found.high, _INT32_END))
