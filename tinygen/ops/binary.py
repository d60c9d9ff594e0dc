"""What operators on two tensors share: broadcasting, as numpy does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Intervals, Link, linked
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Channels, Columns, Rows, all_channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.checks import check_activations, check_numbers, check_shape
from tinygen.ops.constant_slices import constant_slices
from tinygen.ops.requantize import Int64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Broadcasting(Op):
    """An operator on two tensors, element by element, whatever these hold."""

    result_range: ClassVar[Range] = Range.OWN

    first: Tensor
    second: Tensor
    output: Tensor

    @property
    def broadcast(self) -> Broadcast:
        """Which elements of the operands meet."""
        return Broadcast.of(self.first.shape, self.second.shape)

    def verify(self) -> None:
        check_shape("output", self.output, np.broadcast_shapes(self.first.shape, self.second.shape))
        Broadcast.of(self.first.shape, self.second.shape)

    def turned(self, turn: Turn) -> Turned:
        rank = len(self.output.shape)
        return Turned(self, {tensor: turn.broadcast(tensor, rank) for tensor in self.operands if tensor.is_constant})

    def permuted(self, permutation: Permutation) -> Turned:
        constants = (tensor for tensor in self.operands if tensor.is_constant)
        return Turned(self, {tensor: permutation.broadcast(tensor) for tensor in constants})

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        height = operand.shape[1]
        if any(t.is_constant and len(t.shape) == 4 and t.shape[1] > 1 for t in (self.first, self.second)):
            return None  # every row has constants of its own
        return rows if height == self.output.shape[1] else Rows(0, height)

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        if any(t.is_constant and len(t.shape) > 1 and t.shape[-2] > 1 for t in (self.first, self.second)):
            return None  # every column has constants of its own
        width = operand.shape[2]
        return columns if width == self.output.shape[2] else Columns(0, width)

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        return channels if operand.shape[-1:] == self.output.shape[-1:] else all_channels(operand)

    def constant_slices(self, channels: Channels) -> Mapping[Tensor, Tensor]:
        return constant_slices(self.output.shape[-1], channels, self.first, self.second)


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(Broadcasting):
    """output = f(first, second), of numbers; subclasses say what f is in `combine`."""

    takes_int16: ClassVar[bool] = False

    def precision_points(self) -> tuple[Point, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not say where its precision changes")

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.first, self.second)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        """The stored output for stored inputs minus their zero points."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        """The output for float32 inputs."""
        raise NotImplementedError(f"{type(self).__name__} has no float32 reference")

    def _at_corners(self, first: Intervals, second: Intervals) -> Intervals:
        """Between the results for the ends of both operands: of what is monotonic in each while the other one stays."""
        zero_points = self.first.type.zero_point, self.second.type.zero_point
        corners = [
            self.combine(a - zero_points[0], b - zero_points[1])
            for a in (first.low, first.high)
            for b in (second.low, second.high)
        ]
        return Intervals(np.min(corners, axis=0), np.max(corners, axis=0))

    def verify(self) -> None:
        check = check_activations if self.takes_int16 else check_numbers
        check(("first", self.first), ("second", self.second), ("output", self.output))
        super().verify()

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            real_first, real_second = (values[t].astype(np.float32, copy=False) for t in (self.first, self.second))
            return (np.asarray(self.combine_real(real_first, real_second), np.float32),)
        first = values[self.first].astype(np.int64) - self.first.type.zero_point
        second = values[self.second].astype(np.int64) - self.second.type.zero_point
        return (np.asarray(self.combine(first, second), self.output.type.dtype.numpy),)
