"""Softmax over the last axis; of int8 in fixed point."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Turn, Turned
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant
from tinygen.ops.checks import check_activations, check_numbers, check_shape
from tinygen.ops.exponential import (
    SUM_INTEGER_BITS,
    difference_scaling,
    exp_on_negative,
    least_difference,
    one_over_one_plus,
)
from tinygen.ops.requantize import (
    Multiplier,
    doubling_high_multiply,
    rounding_shift_right,
    wrap_int32,
)
from tinygen.ops.softmax_int16 import OUTPUT_SCALE, TABLE_ERROR, scaling_int16, softmax_int16

_OUTPUT_QUANTS = {  # by the element types of input and output
    (DType.INT8, DType.INT8): Quant((1.0 / 256,), (-128,)),
    (DType.INT8, DType.INT16): Quant((1.0 / 65536,), (-32768,)),
    (DType.INT16, DType.INT16): Quant((OUTPUT_SCALE,), (0,)),
}
_LONGEST_ROW = (1 << (SUM_INTEGER_BITS + 1)) - 1  # whose sum of exponentials still fits uint32


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(Op):
    """Softmax; int8 outputs have scale 1/256 and zero point -128 (TFLite's reference, gemmlowp's fixed point).

    int16 outputs have scale 1/65536 and zero point -32768, of int16 inputs scale 1/32768 and zero point 0.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor
    beta: float

    @property
    def fixed_quant(self) -> Quant:
        return _OUTPUT_QUANTS[DType.INT8, DType.INT8]

    @property
    def scaling(self) -> Multiplier:
        """beta * input scale in Q5.26, as multiplier and left shift; of int16 in steps of 10/65535."""
        if self.input.type.dtype is DType.INT16:
            return scaling_int16(self.input.type.scale, self.beta)
        return difference_scaling(self.beta * self.input.type.scale)

    @property
    def diff_min(self) -> int:
        """Differences to the largest input below this have an exponential of 0."""
        return least_difference(self.scaling)

    @property
    def widens(self) -> bool:
        """Whether int8 becomes int16."""
        return (self.input.type.dtype, self.output.type.dtype) == (DType.INT8, DType.INT16)

    @property
    def table_error(self) -> float:
        return TABLE_ERROR * self.row_size if self.input.type.dtype is DType.INT16 else 0.0

    @property
    def summation(self) -> Summation:
        return Summation(self.row_size, are_products=False)

    @property
    def row_size(self) -> int:
        """Elements of the last axis."""
        return self.input.shape[-1]

    def precision_points(self) -> tuple[Point, ...]:
        if self.input.type.dtype is DType.INT16:
            return (
                Point("difference", "to the largest input, in steps of 10/65535"),
                Point("exponential", "Q15, table of 513 values, interpolated"),
                Point("reciprocal", "Q15, table of 513 values, interpolated, output scale 1/32768"),
            )
        steps = f"Q0.31, three Newton-Raphson steps, output scale 1/{round(1 / self.output.type.scale)}"
        return (
            Point("difference", "to the largest input, Q5.26"),
            Point("exponential", "Q0.31 polynomial, sum in Q12.19"),
            Point("reciprocal", steps),
        )

    def turned(self, turn: Turn) -> Turned | None:
        return None if turn.axis == len(self.output.shape) - 1 else Turned(self)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        if self.widens:
            check_numbers(("input", self.input))
        else:
            check_activations(("input", self.input), ("output", self.output))
        check_shape("output", self.output, self.input.shape)
        if not self.input.shape:
            raise ValueError("softmax of a scalar, at least one dimension was expected")
        if not 1 <= self.row_size <= _LONGEST_ROW:
            raise ValueError(f"rows of {self.row_size} elements, 1 to {_LONGEST_ROW} were expected")
        if self.output.type.dtype.is_real:
            return
        quant = _OUTPUT_QUANTS[self.input.type.dtype, self.output.type.dtype]
        tolerance = 1e-3 if self.output.type.dtype is DType.INT16 else 0.0  # TFLite's: converters write 1/65535 too
        is_expected = self.output.type.zero_point == quant.zero_point
        if not (is_expected and math.isclose(self.output.type.scale, quant.scale, rel_tol=tolerance)):
            raise ValueError(
                f"output '{self.output.name}' must have scale 1/{1 / quant.scale:.0f} and zero point {quant.zero_point}"
            )
        if self.scaling.shift < 1 and self.input.type.dtype is DType.INT8:  # TFLite's kernels end the program there
            raise ValueError(f"beta {self.beta} times scale {self.input.type.scale} is below 2**-26")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        return columns if operand.shape == self.output.shape else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            real = values[self.input].astype(np.float32, copy=False)
            powers = np.exp(np.float32(self.beta) * (real - real.max(axis=-1, keepdims=True)))
            return (powers / powers.sum(axis=-1, keepdims=True),)
        rows = values[self.input].astype(np.int64).reshape(-1, self.row_size)
        if self.input.type.dtype is DType.INT16:
            return (softmax_int16(rows, self.scaling).astype(np.int16).reshape(self.output.shape),)
        diff = rows - rows.max(axis=1, keepdims=True)
        scaling = self.scaling
        counts = diff >= self.diff_min
        scaled = doubling_high_multiply(wrap_int32(diff << scaling.shift), scaling.multiplier)
        exponentials = exp_on_negative(np.where(counts, scaled, 0))
        total = np.where(counts, rounding_shift_right(exponentials, SUM_INTEGER_BITS), 0).sum(axis=1, keepdims=True)
        headroom = 31 - np.floor(np.log2(total)).astype(np.int64)
        reciprocal = one_over_one_plus(wrap_int32((total << headroom) - (1 << 31)))
        bits_over_unit = SUM_INTEGER_BITS - headroom
        product = doubling_high_multiply(reciprocal, exponentials)
        dtype = self.output.type.dtype
        stored = rounding_shift_right(product, bits_over_unit + 31 - 8 * dtype.bytes) + dtype.min
        result = np.where(counts, np.clip(stored, dtype.min, dtype.max), dtype.min)
        return (result.astype(dtype.numpy).reshape(self.output.shape),)
