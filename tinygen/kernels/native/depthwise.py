"""Depthwise convolutions, channel by channel over a padded plane."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.linear import LinearRequantization, linear_requantization
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.plane_axes import PlaneAxis, axes_of
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.packing import packing
from tinygen.kernels.prices import prices
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import HW, UNIT
from tinygen.targets.isa import Isa

_BLOCK = 4  # outputs of a line at once
_STRIDES = (1, 2)  # between positions


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeDepthwiseS8(NativeKernel):
    """tg_native_depthwise_s8 and its variants: for 3x3, for stride 2, for clamps that hide negative values."""

    template: ClassVar[str] = "native_depthwise_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    batches: int
    channels: int
    input_bytes: int
    output_bytes: int
    lines: PlaneAxis
    positions: PlaneAxis
    is_3x3: bool
    zero_point: int
    activation: Clamp
    channel_words: int
    fills_blocks: bool  # outputs that are left over are computed as a block, but with 3x3 filters
    is_linear: bool  # requantized by one multiplication

    @property
    def layout(self) -> str:
        """Of the stream."""
        if self.is_3x3:
            order = "bias; of each line of the filter w0 w1 and w1 w2 as 16-bit values; constants of requantization"
        else:
            order = "bias; constants of requantization; of each line of the filter pairs of 16-bit values"
        return f"For each channel: {order}. See tg_native_planes.h."

    @property
    def stream_form(self) -> StreamForm:
        before, behind = (1, 3) if self.is_3x3 else (4, 0)
        return StreamForm(before, self.channel_words - 4, behind, lane=16, shift=0 if self.is_linear else 1)

    @property
    def plane_positions(self) -> int:
        """Elements of a line of the plane."""
        return _plane_positions(self.positions, self.is_3x3)

    @property
    def plane_words(self) -> int:
        """Of scratch, which holds one plane."""
        return self.scratch_bytes // 4

    @property
    def row_bytes(self) -> int:
        """Of a line of the plane."""
        return 2 * self.plane_positions

    @property
    def filter_skip(self) -> int:
        """Bytes of the plane from behind a line of the filter to its next one."""
        return self.row_bytes - self.filter_bytes

    @property
    def block_bytes(self) -> int:
        """Bytes of a line of the plane under whole blocks of outputs; with filters of any size under all outputs."""
        outputs = self.positions.outputs
        return 2 * self.positions.stride * (outputs // _BLOCK * _BLOCK if self.is_3x3 else outputs)

    @property
    def rest(self) -> int:
        """Outputs of a line that are no block."""
        return self.positions.outputs % _BLOCK

    @property
    def row_skip(self) -> int:
        """Bytes of the plane to the next line of outputs: with 3x3 from behind a line, else from its start."""
        start = self.row_bytes * self.lines.stride
        return start - 2 * self.positions.stride * self.positions.outputs if self.is_3x3 else start

    @property
    def filter_bytes(self) -> int:
        """Of a line of the plane that the assembly reads for the first output of a block."""
        return 4 * (pairs_of_taps(self.positions) + (self.positions.stride == 1))

    @property
    def line_skip(self) -> int:
        """Bytes from behind a line of output to the next one."""
        return self.lines.output_step - self.positions.outputs * self.positions.output_step

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        assert isinstance(op, DepthwiseConv2D)
        vertical, horizontal = axes_of(op, rows, columns)
        axes = (vertical, horizontal) if self.lines.is_vertical else (horizontal, vertical)
        return self._by(op, *axes, rows, columns)

    def works(self, op: Op, rows: int | None = None, columns: int | None = None) -> tuple[Work, ...]:
        """Parts may be computed with lines and positions exchanged."""
        assert isinstance(op, DepthwiseConv2D)
        if rows is None and columns is None:
            return (self.work(op),)
        both = tuple(self._by(op, *axes, rows, columns) for axes in _ways(op, rows, columns))
        return both or (self.work(op, rows, columns),)

    def _by(
        self, op: DepthwiseConv2D, lines: PlaneAxis, positions: PlaneAxis, rows: int | None, columns: int | None
    ) -> Work:
        shape = _Shape(lines, positions, self.is_3x3, self.is_linear, self.fills_blocks)
        return shape.work(self.batches * self.channels, clamped(op, rows, columns))


@dataclass(frozen=True)
class _Shape:
    """A way to compute a layer."""

    lines: PlaneAxis
    positions: PlaneAxis
    is_3x3: bool
    is_linear: bool
    fills_blocks: bool

    @property
    def function(self) -> str:
        """Of C."""
        filters, strides = "_3x3" if self.is_3x3 else "", "_stride2" if self.positions.stride == 2 else ""
        return f"tg_native_depthwise{filters}{strides}{'_relu' if self.is_linear else ''}_s8"

    def work(self, planes: int, clamped: float) -> Work:
        """A plane of each channel is filled, then lines of the result are computed in blocks; what is left over one by
        one or as a block."""
        lines, positions = self.lines, self.positions
        left = positions.outputs % _BLOCK
        in_blocks = positions.outputs + (-positions.outputs % _BLOCK if self.fills_blocks else 0)
        computed = planes * lines.outputs * (positions.outputs - left if self.is_3x3 else in_blocks)
        return work(
            self.function,
            call=1,
            weight=planes * lines.taps * positions.taps,
            pixel=lines.reach * positions.reach,
            line=planes * lines.reached,
            start=planes * lines.outputs,
            tap=computed * lines.taps,
            operand=planes * lines.reached * positions.reached,
            output=computed,
            mac=computed * lines.taps * 2 * pairs_of_taps(positions),
            tail_output=planes * lines.outputs * left if self.is_3x3 else 0,
            clamped=clamped,
        )


def lower_depthwise_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The native kernel for `op`, none for multipliers, dilation or unusual scales."""
    return tuple(islice(in_orders(op, toolbox), 1))


def in_orders(op: Op, toolbox: Toolbox) -> Iterator[Kernel]:
    """The same, and the one that takes lines for positions, whose weights stand in another order: the cheaper first."""
    assert isinstance(op, DepthwiseConv2D)
    weights = op.weights.data
    if weights is None or op.multiplier != 1 or op.dilation != UNIT:
        return
    taps = weights.shape[1] * weights.shape[2]
    short = short_requantization(op.output_stage, weights.reshape(taps, -1).T.astype(np.int64))
    ways = _ways(op)
    if short is None or not ways:
        return
    is_3x3, fills_blocks = op.window.kernel == HW(3, 3), toolbox.isa.runs_dsp_kernels or toolbox.isa.is_riscv
    linear = linear_requantization(op.output_stage, short)
    shapes = [_Shape(*axes, is_3x3, linear is not None, fills_blocks) for axes in ways]
    planes, price = op.input.shape[0] * op.input.shape[3], prices(toolbox).instructions
    for shape in sorted(shapes, key=lambda shape: price(shape.work(planes, clamped(op)))):
        yield _kernel(op, toolbox, shape, short, linear)


def _kernel(
    op: DepthwiseConv2D,
    toolbox: Toolbox,
    shape: _Shape,
    short: ShortRequantization,
    linear: LinearRequantization | None,
) -> Kernel:
    """The kernel of one shape."""
    weights, is_3x3, fills_blocks = op.weights.data, shape.is_3x3, shape.fills_blocks
    assert weights is not None, "checked before"
    lines, positions = shape.lines, shape.positions
    # tiles of one operator may differ in this, so the tables have different names
    name, filters = ("stream", weights[0]) if lines.is_vertical else ("transposed", weights[0].transpose(1, 0, 2))
    scaling = _Scaling.of(short, linear)
    channel_words = _channel_words(lines, positions, is_3x3)
    words = packing(
        (name, is_3x3, positions.stride == 1, op.output_stage.key),
        len(short.bias) * channel_words,
        lambda: (_stream_3x3(filters, scaling) if is_3x3 else _stream(filters, scaling, positions)).reshape(-1),
    )
    return NativeDepthwiseS8(
        function=shape.function,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table(name, words),),
        scratch_bytes=_scratch_bytes(lines, positions, is_3x3, toolbox.isa),
        batches=op.input.shape[0],
        channels=op.input.shape[3],
        input_bytes=op.input.type.elements // op.input.shape[0],
        output_bytes=op.output.type.elements // op.output.shape[0],
        lines=lines,
        positions=positions,
        is_3x3=is_3x3,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
        channel_words=channel_words,
        fills_blocks=fills_blocks,
        is_linear=linear is not None,
    )


def pairs_of_taps(positions: PlaneAxis) -> int:
    """Pairs of taps, as positions of a filter are multiplied: at stride 1 a place more, for the next output."""
    return -(-(positions.taps + (positions.stride == 1)) // 2)


def _reach_of_blocks(positions: PlaneAxis) -> int:
    """Elements that blocks of 4 outputs read with filters of any size: the last one may read beyond the plane."""
    last = -(-positions.outputs // _BLOCK) - 1
    return last * _BLOCK * positions.stride + 2 * pairs_of_taps(positions) + (2 if positions.stride == 1 else 6)


def _plane_positions(positions: PlaneAxis, is_3x3: bool) -> int:
    """Elements of a line of the plane: even, so that lines start at whole words."""
    elements = positions.reach if is_3x3 else max(positions.reach, _reach_of_blocks(positions))
    return elements + elements % 2


def _scratch_bytes(lines: PlaneAxis, positions: PlaneAxis, is_3x3: bool, isa: Isa) -> int:
    """Of a plane in whole words. With filters of any size C reads behind its last line what a weight of zero is
    multiplied by, which assembly of the DSP extension does not."""
    line = _plane_positions(positions, is_3x3)
    reached = (positions.outputs - 1) * positions.stride + 2 * pairs_of_taps(positions)
    last = line if is_3x3 or isa is Isa.DSP else max(line, reached)
    elements = (lines.reach - 1) * line + last
    return 2 * (elements + elements % 2)


def _ways(
    op: DepthwiseConv2D, rows: int | None = None, columns: int | None = None
) -> tuple[tuple[PlaneAxis, PlaneAxis], ...]:
    """What may be taken for lines and for positions; rows and columns as in `axes_of`."""
    vertical, horizontal = axes_of(op, rows, columns)
    both = (vertical, horizontal), (horizontal, vertical)
    return tuple(pair for pair in both if _has_kernel(*pair))


def _has_kernel(lines: PlaneAxis, positions: PlaneAxis) -> bool:
    return min(lines.reached, positions.reached) >= 1 and positions.stride in _STRIDES


@dataclass(frozen=True, eq=False)
class _Scaling:
    """What weights and biases are multiplied by, and how sums are requantized."""

    factor: int
    bias: Int64Array
    constants: tuple[Int64Array, Int64Array, Int64Array]  # multiplier, offset, shift

    @classmethod
    def of(cls, short: ShortRequantization, linear: LinearRequantization | None) -> "_Scaling":
        """By one multiplication where there are constants for that; else by two, which takes doubled sums."""
        if linear is not None:
            return cls(1, linear.bias, (linear.multiplier, linear.offset, np.zeros_like(linear.offset)))
        return cls(2, 2 * short.bias, (short.multiplier, short.offset, short.shift))


def _channel_words(lines: PlaneAxis, positions: PlaneAxis, is_3x3: bool) -> int:
    """Of a channel's stream: words of weights, and four numbers."""
    if is_3x3:
        return 2 * 3 + 4
    return lines.taps * pairs_of_taps(positions) * (2 if positions.stride == 1 else 1) + 4


def _stream_3x3(filters: Array, scaling: _Scaling) -> Array:
    """The words that the kernel reads of each channel; `filters`: [line, position, channel]."""
    scaled = scaling.factor * filters.transpose(2, 0, 1).astype(np.int64)
    pairs = np.stack((_word(scaled[..., 0], scaled[..., 1]), _word(scaled[..., 1], scaled[..., 2])), axis=2)
    parts = (scaling.bias, *pairs.reshape(len(scaled), -1).T, *scaling.constants)
    return np.stack(parts, axis=1).astype(np.int32)


def _stream(filters: Array, scaling: _Scaling, positions: PlaneAxis) -> Array:
    """The same for filters of any size."""
    scaled = scaling.factor * filters.transpose(2, 0, 1).astype(np.int64)
    missing = 2 * pairs_of_taps(positions) - positions.taps
    first = np.pad(scaled, ((0, 0), (0, 0), (0, missing)))
    shifted = np.pad(scaled, ((0, 0), (0, 0), (1, missing - 1))) if positions.stride == 1 else None
    words = [_word(taps[..., 0::2], taps[..., 1::2]) for taps in (first, shifted) if taps is not None]
    scales = np.stack((scaling.bias, *scaling.constants), axis=1)
    return np.concatenate((scales, np.stack(words, axis=3).reshape(len(scaled), -1)), axis=1).astype(np.int32)


def _word(low: Int64Array, high: Int64Array) -> Int64Array:
    return (high << 16) | (low & 0xFFFF)


LOWERINGS: Lowerings = {DepthwiseConv2D: lower_depthwise_conv2d}
