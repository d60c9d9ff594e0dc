"""From stored values to signs: one bit each."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.signs import pack_signs, words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape, check_signs, check_stored


@dataclass(frozen=True, eq=False, kw_only=True)
class PackSigns(Op):
    """The nearer of two values, -1 and 1 minus the output's zero point times its scale: 1 from the middle on."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [..., C], int8 or int16
    output: Tensor  # [..., words of C], signs

    @property
    def threshold(self) -> int:
        """The smallest stored input that becomes 1; one above all of them where none does."""
        source, target = self.input.type, self.output.type
        middle = source.zero_point + math.ceil(-target.zero_point * target.scale / source.scale)
        return min(max(middle, source.min), source.max + 1)

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("threshold", f"1 from {self.threshold} on, else -1; minus {self.output.type.zero_point}"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_stored("input", self.input)
        check_dtype("output", self.output, DType.SIGNS)
        check_signs("output", self.output)
        check_shape("output", self.output, (*self.input.shape[:-1], words_of(self.input.shape[-1])))

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return columns

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (pack_signs(np.greater_equal(values[self.input], self.threshold)),)
