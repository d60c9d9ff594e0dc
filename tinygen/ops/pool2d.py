"""Average and max pooling."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.channels import Intervals, Link, linked
from tinygen.ir.graph import Values
from tinygen.ir.orientation import Turn, Turned
from tinygen.ir.rows import Channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_same_quantization
from tinygen.ops.precision import ACCUMULATOR
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import HW, NO_PADDING, UNIT, Window
from tinygen.ops.windowed import Windowed


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pool2D(Windowed):
    """Pooling over a window; padding never counts; input and output have the same quantization and channels."""

    result_range: ClassVar[Range] = Range.OF_OPERAND

    kernel: HW
    dilation: HW = UNIT

    def turned(self, turn: Turn) -> Turned:
        if not turn.exchanges:
            return Turned(self)
        stride, padding, dilation = self.stride.swapped, self.padding.swapped, self.dilation.swapped
        return Turned(replace(self, kernel=self.kernel.swapped, stride=stride, padding=padding, dilation=dilation))

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.input)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return operands[0].each(self.clamp.apply)

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, self.dilation, self.padding)

    @property
    def channels(self) -> int:
        return self.input.shape[3]

    @property
    def takes_rows_in_any_order(self) -> bool:
        is_of_all = self.kernel.h == self.input.shape[1] and self.padding == NO_PADDING and self.dilation == UNIT
        return is_of_all and not self.input.type.dtype.is_real  # sums of real numbers are rounded one by one

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - there is only one
        return channels

    def verify(self) -> None:
        check_same_quantization(self.input, self.output)
        super().verify()
        pad = self.padding
        if self.dilation != UNIT and not self.output.type.dtype.is_real:
            raise ValueError(f"is dilated by {self.dilation}, dilations of 1 were expected")
        extent = self.window.extent
        if max(pad.top, pad.bottom) >= extent.h or max(pad.left, pad.right) >= extent.w:
            raise ValueError(f"padding {pad} leaves windows without any input")


def window_sums(window: Window, input: Array) -> tuple[Int64Array, Int64Array]:
    """Of each position: the sum of the stored values under the window, and how many these are."""
    sums = window.patches(input, 0).astype(np.int64).sum(axis=(3, 4))
    counts = window.patches(np.ones_like(input), 0).astype(np.int64).sum(axis=(3, 4))
    return sums, counts


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool2D(_Pool2D):
    """Mean of the window; of int8 rounded to nearest, halves away from zero."""

    @property
    def summation(self) -> Summation:
        return Summation(self.kernel.h * self.kernel.w, are_products=False)

    def precision_points(self) -> tuple[Point, ...]:
        return (ACCUMULATOR, Point("division", "by the window, halves away from zero"))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        input = values[self.input]
        if self.output.type.dtype.is_real:
            return (self.clamp.apply_real(self._real_means(input)),)
        sums, counts = window_sums(self.window, input)
        half = counts // 2
        means = np.where(sums > 0, (sums + half) // counts, -((half - sums) // counts))
        return (self.clamp.apply(means).astype(input.dtype),)

    def _real_means(self, input: Array) -> Float32Array:
        real, ones = input.astype(np.float32, copy=False), np.ones((1, *input.shape[1:3], 1), np.float32)
        sums, counts = np.zeros(self.output.shape, np.float32), np.zeros((1, *self.output.shape[1:3], 1), np.float32)
        taps = zip(self.window.taps(real, self.output.shape), self.window.taps(ones, self.output.shape), strict=True)
        for (_, pixels), (_, inside) in taps:
            sums += pixels
            counts += inside
        return sums / counts


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePoolUp2D(_Pool2D):
    """Mean of the window; of int8 rounded to nearest, halves up: what uint8, 128 higher, rounds away from zero."""

    def verify(self) -> None:
        check_dtype("output", self.output, DType.INT8)
        super().verify()

    def precision_points(self) -> tuple[Point, ...]:
        return (ACCUMULATOR, Point("division", "by the window, halves up"))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        sums, counts = window_sums(self.window, values[self.input])
        return (self.clamp.apply((sums + counts // 2) // counts).astype(np.int8),)


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool2D(_Pool2D):
    """Largest value of the window."""

    @property
    def padding_value(self) -> float:
        return -math.inf if self.input.type.dtype.is_real else self.input.type.dtype.min

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        input = values[self.input]
        if self.output.type.dtype.is_real:
            return (self.clamp.apply_real(self.window.patches(input, -np.inf).max(axis=(3, 4)).astype(np.float32)),)
        largest = self.window.patches(input, self.input.type.dtype.min).max(axis=(3, 4))
        return (self.clamp.apply(largest.astype(np.int64)).astype(input.dtype),)
