"""What operators share that compute each element of the output from the one at the same place of the input."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Channels, Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.checks import check_dtype, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Op):
    """output[i] = f(input[i]), whatever axes the elements lie on."""

    input: Tensor
    output: Tensor

    def turned(self, turn: Turn) -> Turned:  # noqa: ARG002 - all axes are alike
        return Turned(self)

    def permuted(self, permutation: Permutation) -> Turned | None:  # noqa: ARG002 - all axes are alike
        return Turned(self) if self.input.shape == self.output.shape else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Tabled(Elementwise):
    """f is a table, which a part of the output needs whole and of the input just the same part."""

    table: Tensor  # constant

    def check_table(self, dtype: DType, entries: int) -> None:
        """Raises ValueError for another table than a constant of so many entries of this type."""
        check_dtype("table", self.table, dtype)
        check_shape("table", self.table, (entries,))
        if self.table.data is None:
            raise ValueError(f"table '{self.table.name}' must be a constant")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        return columns if operand.shape == self.output.shape else None

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        return channels if operand.shape == self.output.shape else None
