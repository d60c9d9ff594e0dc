"""Products of int8 matrices with int32 results, zero points on both sides."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_dtype
from tinygen.ops.matrix_products import MatrixProducts
from tinygen.ops.precision import ACCUMULATOR
from tinygen.ops.requantize import wrap_int32


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerBatchMatMul(MatrixProducts):
    """output[..., i, j] = sum over k of (first[..., i, k] - its zero point) * (second[..., k, j] - its zero point):
    MatMulInteger of ONNX, whose operands and zero points may all be computed at run time.

    Matrices are int8. Zero points are int8, one for all, or one for each of the M rows of `first` and of the N columns
    of `second`. Sums are int32 and wrap around, as ONNX lets accumulations do.
    """

    first_zero_point: Tensor  # one element, or M
    second_zero_point: Tensor  # one element, or N

    def precision_points(self) -> tuple[Point, ...]:
        operands = ((self.first, self.first_zero_point), (self.second, self.second_zero_point))
        centered = (f"'{tensor.name}' - '{zero_point.name}', 9 bits" for tensor, zero_point in operands)
        roles = ("first_offset", "second_offset")
        return (*(Point(role, text) for role, text in zip(roles, centered, strict=True)), ACCUMULATOR)

    def verify(self) -> None:
        super().verify()
        check_dtype("first", self.first, DType.INT8)
        check_dtype("second", self.second, DType.INT8)
        check_dtype("output", self.output, DType.INT32)
        for zero_point, lines, what in (
            (self.first_zero_point, self.rows, "rows"),
            (self.second_zero_point, self.columns, "columns"),
        ):
            check_dtype("zero point", zero_point, DType.INT8)
            if zero_point.type.elements not in (1, lines):
                raise ValueError(
                    f"{zero_point.type.elements} zero points of {lines} {what}, 1 or {lines} were expected"
                )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        first, second = self.arranged(values[self.first], values[self.second])
        sums = exact_matmul(
            first.astype(np.int64) - values[self.first_zero_point].astype(np.int64).reshape(-1, 1),
            second.astype(np.int64) - values[self.second_zero_point].astype(np.int64).reshape(1, -1),
        )
        return (wrap_int32(sums).astype(np.int32),)
