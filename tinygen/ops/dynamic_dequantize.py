"""From levels that were quantized at run time back to real numbers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.dynamic_quantize import scale_of_all


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicDequantize(Op):
    """output = (input - zero point) * scale, each row by its own."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # int8
    scale: Tensor  # float32, one for each row
    zero_point: Tensor  # int8, of the scale's shape
    output: Tensor  # float32, the input's shape

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        return scale_of_all(self.scale, self.zero_point)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return columns

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("dequantize", f"'{self.scale.name}', '{self.zero_point.name}': of each row, rounded to float32"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("zero point", self.zero_point)):
            check_dtype(role, tensor, DType.INT8)
        for role, tensor in (("scale", self.scale), ("output", self.output)):
            check_dtype(role, tensor, DType.FLOAT32)
        check_shape("zero point", self.zero_point, self.scale.shape)
        check_shape("output", self.output, self.input.shape)
        rows = self.scale.type.elements
        if not rows or self.input.type.elements % rows:
            raise ValueError(f"input {list(self.input.shape)} does not have {rows} rows of equal size")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        rows = values[self.input].reshape(self.scale.type.elements, -1).astype(np.int32)
        centered = rows - values[self.zero_point].reshape(-1, 1).astype(np.int32)
        with np.errstate(all="ignore"):
            real = centered.astype(np.float32) * values[self.scale].astype(np.float32).reshape(-1, 1)
        return (real.reshape(self.output.shape),)
