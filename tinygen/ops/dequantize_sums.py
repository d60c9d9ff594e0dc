"""int32 sums of quantized products as real numbers: scales, bias and activation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.dynamic_quantize import scale_of_all


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSums(Op):
    """output = input * (scale * factors) + bias, limited to a range, each step rounded to float32.

    With `factors_first` it is (input * factors) * scale: the order that LiteRT's convolutions per channel have.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [..., C], int32
    scale: Tensor  # float32, of the activations: one for each row of equal size
    factors: Tensor  # float32, constant, of the weights: [C], or [1] for all channels
    bias: Tensor | None  # [C], float32, constant
    output: Tensor  # [..., C], float32
    clamp: Clamp
    factors_first: bool = False

    @property
    def channels(self) -> int:
        """Output channels."""
        return self.input.shape[-1] if self.input.shape else 1

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        return scale_of_all(self.scale)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return columns

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("dequantize", "scales of activations and weights, bias: each step rounded to float32"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT32)
        constants = (("factors", self.factors), *((("bias", self.bias),) if self.bias is not None else ()))
        for role, tensor in (("scale", self.scale), *constants, ("output", self.output)):
            check_dtype(role, tensor, DType.FLOAT32)
        for role, tensor in constants:
            if tensor.data is None:
                raise ValueError(f"{role} '{tensor.name}' are computed at run time, constants were expected")
            if role == "bias" or tensor.shape != (1,):
                check_shape(role, tensor, (self.channels,))
        check_shape("output", self.output, self.input.shape)
        rows = self.scale.type.elements
        if not rows or self.input.type.elements % (rows * self.channels):
            raise ValueError(f"input {list(self.input.shape)} does not have {rows} rows of equal size")
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        sums = values[self.input].reshape(self.scale.type.elements, -1, self.channels).astype(np.float32)
        scale = values[self.scale].astype(np.float32, copy=False).reshape(-1, 1, 1)
        factors = values[self.factors].astype(np.float32, copy=False)
        with np.errstate(all="ignore"):
            real: Float32Array = (sums * factors) * scale if self.factors_first else sums * (scale * factors)
            if self.bias is not None:
                real = real + values[self.bias].astype(np.float32, copy=False)
            limited = self.clamp.apply_real(real)
        return (limited.reshape(self.output.shape),)
