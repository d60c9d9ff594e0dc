"""Reshape: the same elements under another shape."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.channels import Intervals, Link, repeated, united
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_same_quantization


@dataclass(frozen=True, eq=False, kw_only=True)
class Reshape(Op):
    """Any reshape, squeeze or expand; no element moves."""

    result_range: ClassVar[Range] = Range.MOVED
    reads_any_shape: ClassVar[bool] = True

    input: Tensor
    output: Tensor

    @property
    def makes_pixels(self) -> bool:
        return self.input.shape[:2] == (1, 1) and self.output.shape == (1, *self.input.shape[2:], 1)

    @property
    def makes_planes(self) -> bool:
        return self.output.shape[:2] == (1, 1) and self.input.shape == (1, *self.output.shape[2:], 1)

    def channel_links(self) -> tuple[Link, ...] | None:
        return repeated(self.output, self.input)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        check_same_quantization(self.input, self.output)
        if self.input.type.elements != self.output.type.elements:
            raise ValueError(
                f"input {list(self.input.shape)} and output {list(self.output.shape)} "
                "must have the same number of elements"
            )

    def aliases(self) -> tuple[Alias, ...]:
        return (Alias(part=self.output, whole=self.input),)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (values[self.input].reshape(self.output.shape),)
