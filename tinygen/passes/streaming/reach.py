"""Which rows of an operand a row of a result is computed from, where that moves along with the row."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.rows import Rows, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.ops.pad import Pad
from tinygen.ops.slice import Slice
from tinygen.ops.windowed import Windowed


@dataclass(frozen=True)
class Reach:
    """Row j of the result is computed from rows [j * stride + first, j * stride + first + extent), the same way for
    each j; rows outside of the operand are padding."""

    stride: int
    first: int
    extent: int

    def of(self, rows: Rows) -> Rows:
        """Rows under rows of the result; the first may be negative, the last beyond the operand."""
        first = rows.first * self.stride + self.first
        return Rows(first, (rows.end - 1) * self.stride + self.first + self.extent)


_SAME_ROW = Reach(1, 0, 1)


def reaches(op: Op) -> dict[Tensor, Reach] | None:
    """The reach into each variable operand; None where rows of the result take more, or differ in what they take."""
    if len(op.results) != 1 or not has_rows(op.results[0]) or not op.variable_operands:
        return None
    found = {operand: _reach(op, operand) for operand in op.variable_operands}
    return {t: reach for t, reach in found.items() if reach} if all(found.values()) else None


def _reach(op: Op, operand: Tensor) -> Reach | None:
    if not has_rows(operand):
        return None
    match op:
        case Windowed():
            return Reach(op.stride.h, -op.padding.top, op.window.extent.h)
        case Pad():
            return Reach(1, -op.before[1], 1)
        case Slice():
            return Reach(op.strides[1], op.begin[1], 1) if op.strides[1] > 0 else None
    rows = [Rows(row, row + 1) for row in range(op.results[0].shape[1])]
    is_row_wise = operand.shape[1] == len(rows) and all(op.rows_needed(operand, row) == row for row in rows)
    return _SAME_ROW if is_row_wise else None
