"""int32 sums of quantized products as real numbers: scales, bias and activation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Source, Values, recast
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.dynamic_quantize import (
    DynamicRange,
    RangeRule,
    check_parameters,
    parameters,
    range_with_zero,
    scale_of_all,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Dequantizing(Op):
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

    def real_numbers(self, values: Values) -> Float32Array:
        """The output."""
        sums = values[self.input].reshape(self.scale.type.elements, -1, self.channels).astype(np.float32)
        scale = values[self.scale].astype(np.float32, copy=False).reshape(-1, 1, 1)
        factors = values[self.factors].astype(np.float32, copy=False)
        with np.errstate(all="ignore"):
            real: Float32Array = (sums * factors) * scale if self.factors_first else sums * (scale * factors)
            if self.bias is not None:
                real = real + values[self.bias].astype(np.float32, copy=False)
            limited = self.clamp.apply_real(real)
        return limited.reshape(self.output.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSums(_Dequantizing):
    """Sums as real numbers."""

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        return scale_of_all(self.scale)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return columns

    def absorbed(self, reader: Op) -> Op | None:
        """With the range of the real numbers, which is found as they are made."""
        if not isinstance(reader, DynamicRange) or reader.outputs[0].type.elements > 1:
            return None
        return recast(self, DequantizeSumsInRange, outputs=reader.outputs, rule=reader.rule, reader=reader.source)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (self.real_numbers(values),)


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSumsInRange(_Dequantizing):
    """Sums as real numbers, and scale and zero point of the range of all of these: on whole tensors only."""

    outputs: tuple[Tensor, ...]  # as those of DynamicRange, one element each
    rule: RangeRule
    reader: Source  # of the range

    @property
    def parts(self) -> tuple[Op, ...]:
        numbers = recast(self, DequantizeSums)
        name, outputs = self.outputs[0].name, self.outputs
        found = DynamicRange(name=name, source=self.reader, input=self.output, outputs=outputs, rule=self.rule)
        return numbers, found

    def verify(self) -> None:
        super().verify()
        check_parameters(self.outputs, self.rule)
        check_shape("scale", self.outputs[0], (1,) * len(self.outputs[0].shape))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        real = self.real_numbers(values)
        found = parameters(self.rule, *range_with_zero(real.reshape(1, -1)))
        return (real, *(array.reshape(self.outputs[0].shape) for array in found))
