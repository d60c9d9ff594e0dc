"""Rows of a ring and new ones behind them, one behind the other."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.graph import Values
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape
from tinygen.ops.ring_reader import RingReader


@dataclass(frozen=True, eq=False, kw_only=True)
class RingRows(RingReader):
    """A copy of as many rows as the output has, from row `first` on, of rows that lie as `Ring` says."""

    result_range: ClassVar[Range] = Range.MOVED

    output: Tensor  # [1, any, columns, channels]
    first: int

    def verify(self) -> None:
        super().verify()
        check_only_moved(self.ring, self.output)
        check_only_moved(self.input, self.output)
        rows = self.output.shape[1] if len(self.output.shape) == 4 else 0
        check_shape("output", self.output, (1, rows, *self.ring.shape[2:]))
        if not (self.first >= 0 and 0 < rows <= self.rows_in_order.rows - self.first):
            raise ValueError(f"rows {self.first} to {self.first + rows - 1} of {self.rows_in_order.rows} are not there")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])
        return (in_order[:, self.first : self.first + self.output.shape[1]],)
