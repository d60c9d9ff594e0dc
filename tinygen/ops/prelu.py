"""Parametric ReLU: a slope for negative inputs that is a tensor of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Link, linked
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Channels, Columns, Rows, all_channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.checks import check_activations, check_scaling, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.constant_slices import constant_slices
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Multiplier, quantize_multiplier, requantize
from tinygen.ops.unary import MAX_BYTE_SHIFT, MAX_WIDE_SHIFT

_MAX_PRODUCT_SHIFT = 14  # 255 * 255 << 14 fits into 31 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class Prelu(Op):
    """output = input where it is positive, else alpha * input; alpha broadcasts to the input's shape."""

    result_range: ClassVar[Range] = Range.OWN
    scales_in_float: ClassVar[bool] = True

    input: Tensor
    alpha: Tensor
    output: Tensor

    @property
    def identity(self) -> Multiplier:
        """Requantization of positive inputs; in float32, as LiteRT has it."""
        return quantize_multiplier(float(np.float32(self.input.type.scale) / np.float32(self.output.type.scale)))

    @property
    def slope(self) -> Multiplier:
        """Requantization of products with alpha; in float32, as LiteRT has it."""
        input_scale, alpha_scale, output_scale = (
            np.float32(t.type.scale) for t in (self.input, self.alpha, self.output)
        )
        return quantize_multiplier(float(input_scale * alpha_scale / output_scale))

    @property
    def broadcast(self) -> Broadcast:
        """Which elements of input and alpha meet."""
        return Broadcast.of(self.input.shape, self.alpha.shape)

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.input, self.alpha), *requantized(self.output))

    def turned(self, turn: Turn) -> Turned:
        rank = len(self.output.shape)
        return Turned(self, {tensor: turn.broadcast(tensor, rank) for tensor in self.operands if tensor.is_constant})

    def permuted(self, permutation: Permutation) -> Turned:
        constants = (tensor for tensor in self.operands if tensor.is_constant)
        return Turned(self, {tensor: permutation.broadcast(tensor) for tensor in constants})

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.input, self.alpha)

    def verify(self) -> None:
        check_activations(("input", self.input), ("alpha", self.alpha), ("output", self.output))
        check_shape("output", self.output, self.input.shape)
        if np.broadcast_shapes(self.input.shape, self.alpha.shape) != self.input.shape:
            raise ValueError(f"alpha {list(self.alpha.shape)} does not broadcast to input {list(self.input.shape)}")

        Broadcast.of(self.input.shape, self.alpha.shape)
        if not self.output.type.dtype.is_real:
            is_wide = self.output.type.dtype is DType.INT16
            check_scaling("input", self.identity, MAX_WIDE_SHIFT if is_wide else MAX_BYTE_SHIFT)
            check_scaling("product", self.slope, 0 if is_wide else _MAX_PRODUCT_SHIFT)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        if self.alpha.is_constant and len(self.alpha.shape) == 4 and self.alpha.shape[1] > 1:
            return None  # every row has slopes of its own
        height = operand.shape[1]
        return rows if height == self.output.shape[1] else Rows(0, height)

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        if any(t.is_constant and len(t.shape) > 1 and t.shape[-2] > 1 for t in (self.alpha,)):
            return None  # every column has slopes of its own
        width = operand.shape[2]
        return columns if width == self.output.shape[2] else Columns(0, width)

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        return channels if operand.shape[-1:] == self.output.shape[-1:] else all_channels(operand)

    def constant_slices(self, channels: Channels) -> Mapping[Tensor, Tensor]:
        return constant_slices(self.output.shape[-1], channels, self.alpha)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            real, slopes = values[self.input].astype(np.float32, copy=False), values[self.alpha].astype(np.float32)
            return (np.where(real >= 0, real, real * slopes),)
        centered = values[self.input].astype(np.int64) - self.input.type.zero_point
        alpha = values[self.alpha].astype(np.int64) - self.alpha.type.zero_point
        identity, slope = self.identity, self.slope
        positive = requantize(centered, identity.multiplier, identity.shift)
        negative = requantize(centered * alpha, slope.multiplier, slope.shift)
        stored = np.where(centered >= 0, positive, negative) + self.output.type.zero_point
        return (Clamp.none(self.output.type).apply(stored).astype(self.output.type.dtype.numpy),)
