"""Permutation of axes."""

from dataclasses import dataclass, replace
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.channels import Intervals, Link, linked, united
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Transpose(Op):
    """Axis i of the output is axis permutation[i] of the input."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor
    output: Tensor
    permutation: tuple[int, ...]

    @property
    def keeps_order(self) -> bool:
        """Whether no element moves: only axes of size 1 change places."""
        return not self.permutes.moves(self.input.shape)

    @property
    def permutes(self) -> Permutation:
        return Permutation(self.permutation)

    def repermuted(self, input: Tensor, output: Tensor, permutation: Permutation) -> "Transpose":
        return replace(self, name=output.name, input=input, output=output, permutation=permutation.order)

    @property
    def makes_pixels(self) -> bool:
        return self.input.shape[0] == 1 and self.permutation == (0, 2, 3, 1)

    @property
    def makes_planes(self) -> bool:
        return self.input.shape[0] == 1 and self.permutation == (0, 3, 1, 2)

    def channel_links(self) -> tuple[Link, ...] | None:
        keeps = bool(self.permutation) and self.permutation[-1] == len(self.permutation) - 1
        return linked(self.output, self.input) if keeps else None

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        if sorted(self.permutation) != list(range(len(self.input.shape))):
            raise ValueError(
                f"permutation {list(self.permutation)} does not name each of {len(self.input.shape)} axes once"
            )
        check_shape("output", self.output, tuple(self.input.shape[axis] for axis in self.permutation))

    def aliases(self) -> tuple[Alias, ...]:
        return (Alias(self.output, self.input),) if self.keeps_order else ()

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows if self.permutation[:2] == (0, 1) else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (values[self.input].transpose(self.permutation),)
