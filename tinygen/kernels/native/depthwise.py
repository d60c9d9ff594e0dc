"""Depthwise convolutions with 3x3 filters, channel by channel over a padded plane."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import HW, UNIT

_BLOCK = 4  # outputs of a line at once
_SINGLE_COST = 1.6  # of an output that is left over, as multiple of one in a block
_LINE_COST = 1.2  # of starting a line


@dataclass(frozen=True)
class Axis:
    """One of the two axes of a plane."""

    is_vertical: bool  # in the tensors
    inputs: int
    outputs: int
    stride: int
    before: int  # padding
    input_step: int  # bytes
    output_step: int

    @property
    def plane(self) -> int:
        """Elements that the filter reaches."""
        return (self.outputs - 1) * self.stride + 3

    @property
    def reached(self) -> int:
        """Those that are elements of the input."""
        return min(self.inputs, self.plane - self.before)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeDepthwise3x3S8(Kernel):
    """tg_native_depthwise_3x3_s8 and its variants for stride 2 and for clamps that hide negative values."""

    template: ClassVar[str] = "native_depthwise_3x3_s8"
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    batches: int
    channels: int
    input_bytes: int
    output_bytes: int
    lines: Axis
    positions: Axis
    zero_point: int
    activation: Clamp

    @property
    def plane_positions(self) -> int:
        """Elements of a line of the plane: even, so that lines start at whole words."""
        return _even(self.positions.plane)

    @property
    def block_bytes(self) -> int:
        """Bytes of a line of the plane under whole blocks of outputs."""
        return 2 * self.positions.stride * (self.positions.outputs // _BLOCK * _BLOCK)

    @property
    def rest_bytes(self) -> int:
        """Bytes under the outputs that are left."""
        return 2 * self.positions.stride * (self.positions.outputs % _BLOCK)

    @property
    def line_skip(self) -> int:
        """Bytes from behind a line of output to the next one."""
        return self.lines.output_step - self.positions.outputs * self.positions.output_step


def lower_depthwise_conv2d(op: Op) -> Kernel | None:
    """The native kernel for `op`, None where there is none."""
    assert isinstance(op, DepthwiseConv2D)
    weights = op.weights.data
    if weights is None or op.window.kernel != HW(3, 3) or op.multiplier != 1 or op.dilation != UNIT:
        return None
    short = short_requantization(op.output_stage, weights.reshape(9, -1).T.astype(np.int64))
    axes = _axes(op)
    if short is None or axes is None:
        return None
    lines, positions = axes  # tiles of one operator may differ in this, so the tables have different names
    name, filters = ("stream", weights[0]) if lines.is_vertical else ("transposed", weights[0].transpose(1, 0, 2))
    return NativeDepthwise3x3S8(
        function=_function(positions.stride, short),
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table(name, _stream(filters, short)),),
        scratch_bytes=2 * lines.plane * _even(positions.plane),
        batches=op.input.shape[0],
        channels=op.input.shape[3],
        input_bytes=op.input.type.elements // op.input.shape[0],
        output_bytes=op.output.type.elements // op.output.shape[0],
        lines=lines,
        positions=positions,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
    )


def _function(stride: int, short: ShortRequantization) -> str:
    return f"tg_native_depthwise_3x3{'_stride2' if stride == 2 else ''}{'_relu' if short.is_relu else ''}_s8"


def _axes(op: DepthwiseConv2D) -> tuple[Axis, Axis] | None:
    """What is taken for lines and for positions: the cheaper way of rows and columns."""
    _, height, width, channels = op.input.shape
    _, rows, columns, _ = op.output.shape
    vertical = Axis(True, height, rows, op.stride.h, op.padding.top, width * channels, columns * channels)
    horizontal = Axis(False, width, columns, op.stride.w, op.padding.left, channels, channels)
    possible = [pair for pair in ((vertical, horizontal), (horizontal, vertical)) if pair[1].stride in (1, 2)]
    return min(possible, key=lambda pair: _cost(*pair), default=None)


def _cost(lines: Axis, positions: Axis) -> float:
    whole, rest = divmod(positions.outputs, _BLOCK)
    return lines.outputs * (_LINE_COST + whole * _BLOCK + rest * _SINGLE_COST)


def _stream(filters: Array, short: ShortRequantization) -> Array:
    """The words that the kernel reads of each channel; `filters`: [line, position, channel]."""
    doubled = 2 * filters.transpose(2, 0, 1).astype(np.int64)
    pairs = np.stack((_word(doubled[..., 0], doubled[..., 1]), _word(doubled[..., 1], doubled[..., 2])), axis=2)
    parts = (2 * short.bias, *pairs.reshape(len(doubled), -1).T, short.multiplier, short.offset, short.shift)
    return np.stack(parts, axis=1).astype(np.int32).reshape(-1)


def _word(low: Int64Array, high: Int64Array) -> Int64Array:
    return (high << 16) | (low & 0xFFFF)


def _even(count: int) -> int:
    return count + count % 2
