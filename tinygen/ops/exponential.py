"""Exponentials and reciprocals in fixed point, as gemmlowp computes them: what softmax and its logarithm share."""

import math

import numpy as np

from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    doubling_high_multiply,
    quantize_multiplier,
    rounding_shift_right,
)

DIFF_INTEGER_BITS = 5  # of the scaled difference to the largest input
SUM_INTEGER_BITS = 12  # of the sum of exponentials
Q31_MAX = (1 << 31) - 1


def difference_scaling(factor: float) -> Multiplier:
    """From differences to the largest input, of which one is worth `factor`, to Q5.26."""
    return quantize_multiplier(min(factor * (1 << (31 - DIFF_INTEGER_BITS)), float(Q31_MAX)))


def least_difference(scaling: Multiplier) -> int:
    """Differences to the largest input below this have an exponential of 0."""
    return -math.floor(((1 << DIFF_INTEGER_BITS) - 1) * (1 << (31 - DIFF_INTEGER_BITS)) / (1 << scaling.shift))


def exp_on_negative(a: Int64Array) -> Int64Array:
    """exp(a) in Q0.31 for a <= 0 in Q5.26 (gemmlowp's exp_on_negative_values)."""
    quarter = 1 << 24
    mask = quarter - 1
    remainder = (a & mask) - quarter
    result = _exp_between_negative_quarter_and_0(remainder << DIFF_INTEGER_BITS)
    remaining = remainder - a
    for exponent, factor in enumerate(_EXP_FACTORS, start=-2):
        bit = 1 << (26 + exponent)
        result = np.where(remaining & bit, doubling_high_multiply(result, factor), result)
    return np.where(a == 0, Q31_MAX, result)


_EXP_FACTORS = (
    1672461947,
    1302514674,
    790015084,
    290630308,
    39332535,
    720401,
    242,
)  # exp(-2**k), k = -2..4, Q0.31


def _exp_between_negative_quarter_and_0(a: Int64Array) -> Int64Array:
    """exp(a) in Q0.31 for a in [-1/4, 0) in Q0.31: a fourth-order Taylor polynomial around -1/8."""
    constant_term = 1895147668  # exp(-1/8)
    one_third = 715827883
    x = a + (1 << 28)
    x2 = doubling_high_multiply(x, x)
    x3 = doubling_high_multiply(x2, x)
    x4_over_4 = rounding_shift_right(doubling_high_multiply(x2, x2), 2)
    tail = rounding_shift_right(doubling_high_multiply(x4_over_4 + x3, one_third) + x2, 1)
    return constant_term + doubling_high_multiply(x + tail, constant_term)


def one_over_one_plus(a: Int64Array) -> Int64Array:
    """1 / (1 + a) in Q0.31 for a in [0, 1) in Q0.31: three Newton-Raphson steps on the half denominator."""
    half_denominator = (a + Q31_MAX + 1) >> 1
    x = 1515870810 + doubling_high_multiply(half_denominator, -1010580540)  # 48/17 - 32/17 * d, in Q2.29
    for _ in range(3):
        error = (1 << 29) - doubling_high_multiply(half_denominator, x)
        x = x + np.clip(doubling_high_multiply(x, error) << 2, -(1 << 31), Q31_MAX)
    reciprocal: Int64Array = np.clip(x << 1, -(1 << 31), Q31_MAX)
    return reciprocal
