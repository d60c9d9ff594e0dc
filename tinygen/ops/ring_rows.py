"""Rows of a ring and new ones behind them, one behind the other."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.graph import Source, Values
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape
from tinygen.ops.ring_reader import RingReader


@dataclass(frozen=True, eq=False, kw_only=True)
class RingRows(RingReader):
    """A copy of as many rows as the output has, each `step`-th from row `first` on, of rows that lie as `Ring` says."""

    result_range: ClassVar[Range] = Range.MOVED

    output: Tensor  # [1, any, columns, channels]
    first: int
    step: int

    def verify(self) -> None:
        super().verify()
        check_only_moved(self.ring, self.output)
        check_only_moved(self.input, self.output)
        rows = self.output.shape[1] if len(self.output.shape) == 4 else 0
        check_shape("output", self.output, (1, rows, *self.ring.shape[2:]))
        last = self.first + (rows - 1) * self.step
        if not (self.first >= 0 and self.step > 0 and rows > 0 and last < self.rows_in_order.rows):
            raise ValueError(
                f"rows {self.first} to {last}, each {self.step}, of {self.rows_in_order.rows} are not there"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])
        return (in_order[:, self.first :: self.step][:, : self.output.shape[1]],)


def copied_rows(ring: Ring, rows: range, name: str, source: Source, output: Tensor) -> RingRows:
    """The operator that copies some rows, counted from the oldest."""
    return RingRows(
        name=name,
        source=source,
        input=ring.new,
        ring=ring.kept,
        place=ring.place,
        output=output,
        first=rows.start,
        step=rows.step,
    )
