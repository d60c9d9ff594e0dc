"""What operators on two tensors share: broadcasting, as numpy does it."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.checks import check_dtype, check_per_tensor, check_shape
from tinygen.ops.requantize import Int64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(Op):
    """output = f(first, second), element by element; subclasses say what f is in `combine`."""

    first: Tensor
    second: Tensor
    output: Tensor

    @property
    def broadcast(self) -> Broadcast:
        """Which elements of the operands meet."""
        return Broadcast.of(self.first.shape, self.second.shape)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        """The stored output for stored inputs minus their zero points."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def verify(self) -> None:
        for role, tensor in (("first", self.first), ("second", self.second), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_per_tensor(role, tensor)
        check_shape("output", self.output, np.broadcast_shapes(self.first.shape, self.second.shape))
        Broadcast.of(self.first.shape, self.second.shape)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        height = operand.shape[1]
        if any(t.is_constant and len(t.shape) == 4 and t.shape[1] > 1 for t in (self.first, self.second)):
            return None  # every row has constants of its own
        return rows if height == self.output.shape[1] else Rows(0, height)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        first = values[self.first].astype(np.int64) - self.first.type.zero_point
        second = values[self.second].astype(np.int64) - self.second.type.zero_point
        return (np.asarray(self.combine(first, second), self.output.type.dtype.numpy),)
