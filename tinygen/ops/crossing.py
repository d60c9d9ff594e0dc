"""Crossing: a tensor on its way from one engine to another of a different datapath."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Crossing(Op):
    """The same real numbers; quantization makes it a Rescale, Quantize or Dequantize."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_dtype("output", self.output, DType.FLOAT32)
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (values[self.input],)
