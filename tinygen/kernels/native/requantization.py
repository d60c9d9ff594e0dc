"""Short requantization: the double rounding of `ops.requantize` in three instructions, where that is proven.

With acc the accumulator, m and r multiplier and right shift of a channel, zp the output's zero point:

    y      = round(acc * m / 2**31)                     halves up; the first rounding
    result = floor((y + 2**(r-1) - (y < 0)) / 2**r)     halves away from zero; the second
    output = saturate(result + zp) = saturate((y + offset - (y < 0)) >> r),  offset = (zp << r) + 2**(r-1)

`y` is the high word of 2 * acc * m plus one half, which one instruction adds to `offset`. (acc < 0) may stand for
(y < 0): they differ for y = 0 only, where both give the same result if r >= 1. Where the output is clamped at zp or
above, every negative y ends at the clamp with and without the subtraction, so that it is left out.
"""

from dataclasses import dataclass

import numpy as np

from tinygen.ops.accumulate import OutputStage
from tinygen.ops.requantize import Int64Array, doubling_high_multiply, requantize, wrap_int32

_INT32_END = 1 << 31


@dataclass(frozen=True, eq=False)
class ShortRequantization:
    """Constants of each output channel; `is_relu`: negative results need not be exact, the clamp hides them."""

    bias: Int64Array  # with the input's zero point folded in, modulo 2**32
    multiplier: Int64Array
    offset: Int64Array
    shift: Int64Array  # to the right
    is_relu: bool
    low: Int64Array  # the smallest and the largest accumulator there is
    high: Int64Array

    @property
    def scale(self) -> tuple[Int64Array, ...]:
        """As streams hold it."""
        return self.multiplier, self.offset, self.shift

    @property
    def largest_sum(self) -> Int64Array:
        """The largest accumulator or its negative, 0 of channels that are constant."""
        return np.where(self.multiplier == 0, 0, np.maximum(-self.low, self.high))


def short_requantization(stage: OutputStage, weights: Int64Array) -> ShortRequantization | None:
    """The constants for filters `weights` [channels, elements]; None where the short form is not proven exact."""
    low, high, bias = _accumulators(stage, weights)
    largest_sum = np.maximum(-low, high)
    if largest_sum.max() >= _INT32_END:
        return None
    multiplier, shift = (np.broadcast_to(values, len(weights)).copy() for values in stage.multipliers)
    zero_point = stage.output.type.zero_point
    ends = [stage.clamp.apply(requantize(end, multiplier, shift) + zero_point) for end in (low, high)]
    is_constant = (ends[0] == ends[1]) & ((shift <= 0) | (low == high))  # without left shifts all is monotonic
    multiplier[is_constant], shift[is_constant] = 0, -1
    stored = np.where(is_constant, ends[0], zero_point)
    is_relu = stage.clamp.min >= zero_point
    right = -shift
    if right.min() < (0 if is_relu else 1) or (2 * largest_sum >= _INT32_END)[~is_constant].any():
        return None
    offset = (stored << right) + np.where(right > 0, (1 << right) >> 1, 0)
    smallest = np.minimum(doubling_high_multiply(low, multiplier), 0) + offset - 1
    largest = np.maximum(doubling_high_multiply(high, multiplier), 0) + offset
    if smallest.min() < -_INT32_END or largest.max() >= _INT32_END:
        return None
    return ShortRequantization(wrap_int32(bias), multiplier, offset, right, is_relu, low, high)


def _accumulators(stage: OutputStage, weights: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Smallest and largest accumulator of each channel over all int8 inputs, and the bias for plain stored inputs."""
    bias = -stage.input.type.zero_point * weights.sum(axis=1)
    if stage.bias is not None and stage.bias.data is not None:
        bias = bias + stage.bias.data.astype(np.int64)
    positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    return bias + 127 * negative - 128 * positive, bias + 127 * positive - 128 * negative, bias
