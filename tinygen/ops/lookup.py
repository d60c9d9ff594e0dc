"""Table lookup: any function of one 8-bit input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Intervals, Link, repeated
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Channels, Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Op):
    """output = table[input], element by element; the table is in the order of the input's bits as unsigned number."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    table: Tensor  # [256], constant, of the output's element type
    output: Tensor

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("table", f"{self.table.type.elements} entries, rounded once"),)

    def turned(self, turn: Turn) -> Turned:  # noqa: ARG002 - all axes are alike
        return Turned(self)

    def permuted(self, permutation: Permutation) -> Turned | None:  # noqa: ARG002 - all axes are alike
        return Turned(self) if self.input.shape == self.output.shape else None

    def channel_links(self) -> tuple[Link, ...] | None:
        return repeated(self.output, self.input)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        assert self.table.data is not None
        start = self.input.type.dtype.min
        table = np.roll(self.table.data.astype(np.int64), start)  # from the smallest input on
        ends = zip(operands[0].low, operands[0].high, strict=True)
        reached = [table[low - start : high - start + 1] for low, high in ends]
        return Intervals(np.array([part.min() for part in reached]), np.array([part.max() for part in reached]))

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8, DType.UINT8)
        check_dtype("output", self.output, DType.INT8, DType.UINT8)
        check_dtype("table", self.table, self.output.type.dtype)
        check_shape("table", self.table, (256,))
        if self.table.data is None:
            raise ValueError(f"table '{self.table.name}' must be a constant")
        if self.input.type.elements != self.output.type.elements:
            raise ValueError(
                f"input {list(self.input.shape)} and output {list(self.output.shape)} differ in their elements' number"
            )

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        return columns if operand.shape == self.output.shape else None

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        return channels if operand.shape == self.output.shape else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.table][values[self.input].view(np.uint8)]).reshape(self.output.shape),)
