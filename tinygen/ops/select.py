"""Selection by truth values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.broadcast import Shape, merged_loops
from tinygen.ops.checks import check_dtype, check_only_moved, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Select(Op):
    """output = first where the condition is true, else second; all three broadcast as in numpy."""

    result_range: ClassVar[Range] = Range.OF_OPERANDS

    condition: Tensor
    first: Tensor
    second: Tensor
    output: Tensor

    @property
    def loops(self) -> tuple[Shape, tuple[Shape, ...]]:
        """Sizes of the loops, and the strides of condition, first and second in elements."""
        return merged_loops(self.condition.shape, self.first.shape, self.second.shape)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("condition", self.condition, DType.BOOL)
        shapes = (self.condition.shape, self.first.shape, self.second.shape)
        check_shape("output", self.output, np.broadcast_shapes(*shapes))
        for operand in (self.first, self.second):
            check_only_moved(operand, self.output)
        merged_loops(*shapes)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        if any(tensor.is_constant and tensor.type.elements > 1 for tensor in self.operands):
            return None
        height = operand.shape[1]
        return rows if height == self.output.shape[1] else Rows(0, height)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.where(values[self.condition], values[self.first], values[self.second]),)
