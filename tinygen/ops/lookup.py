"""Table lookup: any function of one 8-bit input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Intervals, Link, repeated
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype
from tinygen.ops.elementwise import Tabled


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Tabled):
    """output = table[input], element by element; the table is in the order of the input's bits as unsigned number."""

    result_range: ClassVar[Range] = Range.OWN

    table: Tensor  # [256], of the output's element type

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("table", f"{self.table.type.elements} entries, rounded once"),)

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
        self.check_table(self.output.type.dtype, 256)
        if self.input.type.elements != self.output.type.elements:
            raise ValueError(
                f"input {list(self.input.shape)} and output {list(self.output.shape)} differ in their elements' number"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.table][values[self.input].view(np.uint8)]).reshape(self.output.shape),)
