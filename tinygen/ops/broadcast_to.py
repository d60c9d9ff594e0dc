"""A tensor repeated along axes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastTo(Op):
    """The input along new axes in front, and along its axes of size 1, as often as the output is long."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor
    output: Tensor

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        own, shape = self.input.shape, self.output.shape
        if len(own) > len(shape) or np.broadcast_shapes(own, shape) != shape:
            raise ValueError(f"shape {list(own)} cannot be broadcast to {list(shape)}")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape[1] == self.output.shape[1] else Rows(0, 1)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.broadcast_to(values[self.input], self.output.shape),)
