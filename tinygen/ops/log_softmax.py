"""The logarithm of softmax over the last axis, of int8 in fixed point."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Turn, Turned
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant
from tinygen.ops.checks import check_dtype, check_numbers, check_quantization, check_shape
from tinygen.ops.exponential import (
    DIFF_INTEGER_BITS,
    Q31_MAX,
    SUM_INTEGER_BITS,
    difference_scaling,
    exp_on_negative,
    least_difference,
    one_over_one_plus,
)
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    doubling_high_multiply,
    quantize_multiplier,
    requantize,
    rounding_shift_right,
    wrap_int32,
)

OUTPUT_QUANT = Quant((1.0 / 16,), (127,))
_OUTPUT_SHIFT = 31 - DIFF_INTEGER_BITS - 4  # from Q5.26 to sixteenths
_POWER_BITS = 25  # fraction bits of powers of two
_LONGEST_ROW = (1 << SUM_INTEGER_BITS) - 1  # whose sum of exponentials still fits int32
_LEAST_SHIFT = 2  # of the scaling; its inverse is below 1 then


@dataclass(frozen=True, eq=False, kw_only=True)
class LogSoftmax(Op):
    """Logarithm of softmax, of int8 with scale 1/16 and zero point 127 (TFLite's reference, gemmlowp's fixed point)."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor

    @property
    def scaling(self) -> Multiplier:
        """From differences to the largest input to Q5.26."""
        return difference_scaling(self.input.type.scale)

    @property
    def reverse_scaling(self) -> Multiplier:
        """From Q5.26 to differences."""
        scaling = self.scaling
        return quantize_multiplier((1 << (31 - scaling.shift)) / scaling.multiplier)

    @property
    def diff_min(self) -> int:
        """Differences to the largest input below this have an exponential of 0."""
        return least_difference(self.scaling)

    @property
    def summation(self) -> Summation:
        return Summation(self.row_size, are_products=False)

    @property
    def row_size(self) -> int:
        """Elements of the last axis."""
        return self.input.shape[-1]

    def precision_points(self) -> tuple[Point, ...]:
        return (
            Point("difference", "to the largest input, Q5.26"),
            Point("exponential", "Q0.31 polynomial, sum in Q12.19"),
            Point("logarithm", "Q5.26: powers of two and their roots, a rational function between, output scale 1/16"),
        )

    def turned(self, turn: Turn) -> Turned | None:
        return None if turn.axis == len(self.output.shape) - 1 else Turned(self)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("output", self.output, DType.INT8)
        check_numbers(("input", self.input), ("output", self.output))
        check_quantization("output", self.output, OUTPUT_QUANT)
        check_shape("output", self.output, self.input.shape)
        if not self.input.shape:
            raise ValueError("log softmax of a scalar, at least one dimension was expected")
        if not 1 <= self.row_size <= _LONGEST_ROW:
            raise ValueError(f"rows of {self.row_size} elements, 1 to {_LONGEST_ROW} were expected")
        if self.scaling.shift < _LEAST_SHIFT:
            raise ValueError(f"the input's scale {self.input.type.scale} is below 2**-25")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        return columns if operand.shape == self.output.shape else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        rows = values[self.input].astype(np.int64).reshape(-1, self.row_size)
        diff = rows - rows.max(axis=1, keepdims=True)
        scaling, reverse = self.scaling, self.reverse_scaling
        scaled = requantize(diff, scaling.multiplier, scaling.shift)
        counts = diff >= self.diff_min
        exponentials = exp_on_negative(np.where(counts, scaled, 0))
        total = np.where(counts, rounding_shift_right(exponentials, SUM_INTEGER_BITS), 0).sum(axis=1, keepdims=True)
        logarithm = _log(total)
        least = requantize(logarithm - (1 << 31), reverse.multiplier, reverse.shift)
        is_seen = diff > np.maximum(self.diff_min - 1, least)
        stored = rounding_shift_right(np.where(is_seen, scaled - logarithm, 0), _OUTPUT_SHIFT) + OUTPUT_QUANT.zero_point
        result = np.where(is_seen, np.clip(stored, DType.INT8.min, DType.INT8.max), DType.INT8.min)
        return (result.astype(np.int8).reshape(self.output.shape),)


def _log(a: Int64Array) -> Int64Array:
    """log(a) in Q5.26 for a >= 1 in Q12.19.

    The value is a power of two times a number in [sqrt(1/2), 1), or that power times sqrt(1/2); the logarithm of the
    number is a rational function around the fourth root of 1/2.
    """
    log_of_2, root_of_half, fourth_root_of_half = 1488522236, 1518500250, 1805811301
    cubic = 117049297  # 11/240 * 2**(1/4)
    squared = 127690142  # 1/20 * 2**(1/4)
    constant = 1057819769  # 2**(3/4) - 2**(1/4)
    linear = 638450708  # 1/4 * 2**(1/4)
    quarter = 1 << (_POWER_BITS - 2)
    headroom = _leading_zeros(a) - 1
    halved = np.minimum(doubling_high_multiply(a << headroom, root_of_half) << 1, Q31_MAX)
    root_headroom = _leading_zeros(doubling_high_multiply(a, root_of_half)) - 1
    whole = np.minimum(a << root_headroom, Q31_MAX)
    power = ((SUM_INTEGER_BITS - 1 - headroom) << _POWER_BITS) + quarter
    root_power = ((SUM_INTEGER_BITS - root_headroom) << _POWER_BITS) - quarter
    rest = np.minimum(halved, whole)
    p = (rest + fourth_root_of_half + 1) >> 1
    q = (rest - fourth_root_of_half) << 1
    square = doubling_high_multiply(q, q)
    numerator = doubling_high_multiply(q, rest) + doubling_high_multiply(doubling_high_multiply(q, square), cubic)
    above_one = doubling_high_multiply(p, constant + q + doubling_high_multiply(square, squared))
    reciprocal = one_over_one_plus(above_one + doubling_high_multiply(q, linear))
    fraction = doubling_high_multiply(rounding_shift_right(numerator, 31 - _POWER_BITS), reciprocal)
    total = doubling_high_multiply(np.maximum(power, root_power), log_of_2) + fraction
    return wrap_int32(total << 1)


def _leading_zeros(a: Int64Array) -> Int64Array:
    """Of positive numbers in 32 bits."""
    zeros: Int64Array = 32 - np.frexp(a.astype(np.float64))[1].astype(np.int64)
    return zeros
