"""Rows divided by their length."""

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
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import ACCUMULATOR, offsets
from tinygen.ops.requantize import requantize
from tinygen.ops.roots import inverse_sqrt

OUTPUT_BITS = 7  # of scale 1/128
_OUTPUT_QUANT = Quant((1.0 / (1 << OUTPUT_BITS),), (0,))
_LARGEST_SUM = (1 << 31) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class L2Normalization(Op):
    """Rows along the last axis divided by the root of their sum of squares, with scale 1/128 and zero point 0.

    Of int8, as TFLite's reference computes it. Products with the reciprocal root are shifted by 7 bits, `early_bits` of
    these before they are rounded: all of them where TFLite has uint8.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor
    early_bits: int = 0

    @property
    def summation(self) -> Summation:
        return Summation(self.row_size, are_products=False)

    @property
    def row_size(self) -> int:
        """Elements of the last axis."""
        return self.input.shape[-1]

    def precision_points(self) -> tuple[Point, ...]:
        return (
            *offsets(self.input),
            ACCUMULATOR,
            Point("reciprocal root", "Q31 multiplier and shift, five Newton-Raphson steps, output scale 1/128"),
        )

    def turned(self, turn: Turn) -> Turned | None:
        return None if turn.axis == len(self.output.shape) - 1 else Turned(self)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("output", self.output, DType.INT8)
        check_numbers(("input", self.input), ("output", self.output))
        check_quantization("output", self.output, _OUTPUT_QUANT)
        check_shape("output", self.output, self.input.shape)
        if not self.input.type.elements or not self.input.shape:
            raise ValueError(f"input '{self.input.name}' has shape {list(self.input.shape)}, rows were expected")
        type = self.input.type
        farthest = max(type.max - type.zero_point, type.zero_point - type.min)
        if self.row_size * farthest**2 > _LARGEST_SUM:
            raise ValueError(f"rows of {self.row_size} elements, at most {_LARGEST_SUM // farthest**2} were expected")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        return columns if operand.shape == self.output.shape else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        rows = values[self.input].astype(np.int64).reshape(-1, self.row_size) - self.input.type.zero_point
        roots = [inverse_sqrt(max(int(total), 1)) for total in np.square(rows).sum(axis=1)]
        multipliers = np.array([[root.multiplier] for root in roots], np.int64)
        shifts = np.array([[root.shift] for root in roots], np.int64)
        stored = requantize(rows << self.early_bits, multipliers, shifts + OUTPUT_BITS - self.early_bits)
        return (Clamp.none(self.output.type).apply(stored).astype(np.int8).reshape(self.output.shape),)
