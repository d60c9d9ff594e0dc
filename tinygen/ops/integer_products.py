"""What layers with int32 results share: sums of products of int8, less the zero points on both sides."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.answers import Filters, Point
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, along
from tinygen.ops.checks import check_dtype
from tinygen.ops.dynamic_quantize import scale_of_all
from tinygen.ops.precision import ACCUMULATOR, weights_point
from tinygen.ops.requantize import Int64Array

_LARGEST = 255  # distance of a stored value from a zero point
_LIMIT = (1 << 31) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerProducts(Op):
    """sum over (input - zero point) * (weights - their zero points): what MatMulInteger and ConvInteger compute.

    The zero point of the input may be known at run time only, one for each row of equal size; those of the weights are
    in their quantization, one or one for each output channel. Scales have no part in it.
    """

    input: Tensor  # int8
    zero_point: Tensor  # int8
    weights: Tensor  # int8, constant
    output: Tensor  # int32

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        return scale_of_all(self.zero_point)

    @property
    def channel_axis(self) -> int:
        """The axis of the weights that counts output channels."""
        return 0

    @property
    def channels(self) -> int:
        """Output channels."""
        return self.weights.shape[self.channel_axis]

    @property
    def filters(self) -> Filters:
        return Filters(self.weights, None, self.channel_axis)

    @property
    def weight_zero_points(self) -> Int64Array:
        """One for each output channel."""
        quant = self.weights.type.quant
        zero_points = (0,) if quant is None else quant.zero_points
        return np.broadcast_to(np.array(zero_points, np.int64), (self.channels,))

    @cached_property
    def centered_weights(self) -> Int64Array:
        """Less their zero points."""
        assert self.weights.data is not None
        zero_points = along(self.weight_zero_points, self.channel_axis, self.weights.data.ndim)
        return self.weights.data.astype(np.int64) - zero_points

    def precision_points(self) -> tuple[Point, ...]:
        offset = Point("input_offset", f"'{self.input.name}' - '{self.zero_point.name}', 9 bits")
        return (offset, weights_point(self.weights), ACCUMULATOR)

    def channel_links(self) -> None:
        return None

    def centered(self, input: Array, zero_points: Array) -> Int64Array:
        """The input less its zero points, one for each row."""
        rows = input.reshape(zero_points.size, -1).astype(np.int64) - zero_points.reshape(-1, 1).astype(np.int64)
        return rows.reshape(input.shape)

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("zero point", self.zero_point), ("weights", self.weights)):
            check_dtype(role, tensor, DType.INT8)
        check_dtype("output", self.output, DType.INT32)
        if self.weights.data is None or not self.weights.type.elements:
            raise ValueError(f"weights '{self.weights.name}' are computed at run time, a constant was expected")
        quant = self.weights.type.quant
        if quant is not None:
            _check_axis(self.weights, quant, self.channels, self.channel_axis)
        rows = self.zero_point.type.elements
        if not rows or self.input.shape[0] % rows:
            raise ValueError(f"input {list(self.input.shape)} does not have {rows} rows of equal size")
        axes = tuple(axis for axis in range(self.weights.data.ndim) if axis != self.channel_axis)
        if int(np.abs(self.centered_weights).sum(axis=axes).max()) * _LARGEST > _LIMIT:
            raise ValueError("sums of products with these weights may not fit int32")


def _check_axis(weights: Tensor, quant: Quant, channels: int, axis: int) -> None:
    if not quant.is_per_tensor and (len(quant.scales) != channels or quant.axis != axis):
        raise ValueError(
            f"weights '{weights.name}' have {len(quant.scales)} scales along axis {quant.axis}, "
            f"{channels} along axis {axis} were expected"
        )
    if not all(-128 <= zero_point <= 127 for zero_point in quant.zero_points):
        raise ValueError(f"weights '{weights.name}' have a zero point outside of i8")
