"""Copy: the same elements in memory of their own."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.channels import Intervals, Link, linked, united
from tinygen.ir.graph import Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape
from tinygen.ops.elementwise import Elementwise


@dataclass(frozen=True, eq=False, kw_only=True)
class Copy(Elementwise):
    """A second tensor of the same value, for outputs that would otherwise be a constant or an input."""

    result_range: ClassVar[Range] = Range.MOVED

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.input)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        check_shape("output", self.output, self.input.shape)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (values[self.input],)
