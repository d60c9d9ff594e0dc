"""Depthwise convolutions on cores with MVE, 16 channels side by side: few outputs at a time, hardly any scratch."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar, NamedTuple

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.depthwise_mve import planes, planes_in_orders
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.plane_axes import PlaneAxis, axes_of
from tinygen.kernels.native.requantization_mve import VectorRequantization, vector_requantization
from tinygen.kernels.packing import packing
from tinygen.kernels.prices import faster_or_smaller, prices
from tinygen.kernels.tinygen_c.ring import RingLayerKernel, ring_fields
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.ring_depthwise_conv2d import RingDepthwiseConv2D
from tinygen.ops.window import NO_PADDING, starts_inside

_LANES = 16
_SUMS = (0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15)  # channels in the order of the constants
_MOST_TAPS = 32
_LAYOUT = (
    "For each 16 channels: biases; 16 bytes of each element of the filter; multipliers; shifts. See "
    "tg_native_mve_lanes.h."
)
_LARGEST_PAIR = 255  # |weight| + |weight|: products of both with int8 values add up to 16 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveDepthwiseLanesS8(NativeKernel):
    """tg_native_mve_depthwise_lanes_s8 and its variant for clamps that hide negative values."""

    template: ClassVar[str] = "native_mve_depthwise_lanes_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native_mve.h"
    takes_scratch: ClassVar[bool] = True

    batches: int
    channels: int
    input_bytes: int
    output_bytes: int
    lines: PlaneAxis
    positions: PlaneAxis
    line_dilation: int
    position_dilation: int
    zero_point: int
    output_zero_point: int
    activation: Clamp

    @property
    def layout(self) -> str:
        """Of the stream."""
        return _LAYOUT

    @property
    def stream_form(self) -> StreamForm:
        return _form(self.lines.taps * self.positions.taps)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """line: of the result; run: of pixels of it that see the same part of the filter, run_line and run_tap: of
        that; group: 16 channels of a pixel; pair, single: elements of the filter, of these."""
        assert isinstance(op, DepthwiseConv2D)
        lines, positions = axes_of(op, rows)
        dilation = op.dilation.h, op.dilation.w
        if lines.outputs > positions.outputs if rows is not None else not self.lines.is_vertical:
            lines, positions, dilation = positions, lines, dilation[::-1]
        inside = [_starts_inside(axis, step) for axis, step in zip((lines, positions), dilation, strict=True)]
        runs = positions.outputs - max(0, inside[1] - 1)
        all_runs = self.batches * (inside[0] * runs + (lines.outputs - inside[0]) * positions.outputs)
        taps, pixels = lines.taps * positions.taps, self.batches * lines.outputs * positions.outputs
        groups = pixels * -(-self.channels // _LANES)
        done = work(
            self.function,
            call=1,
            line=self.batches * lines.outputs,
            run=all_runs,
            run_line=all_runs * lines.taps,
            run_tap=all_runs * taps,
            pixel=pixels,
            group=groups,
            pair=groups * (taps // 2),
            single=groups * (taps % 2),
            clamped=clamped(op, rows),
        )
        return done if columns is None else done.part(columns / op.output.shape[2])


def _starts_inside(axis: PlaneAxis, dilation: int) -> int:
    return starts_inside(axis.outputs, axis.stride, axis.before, axis.inputs - 1 - (axis.taps - 1) * dilation)


def lanes(op: DepthwiseConv2D) -> tuple[Kernel, ...]:
    """The kernel for `op`; none for multipliers, large filters or unusual scales."""
    return tuple(islice(lanes_in_orders(op), 1))


def lanes_in_orders(op: DepthwiseConv2D) -> Iterator[Kernel]:
    """The same, and the one whose weights stand in the other order: first that with the longer lines, whose pixels are
    computed together."""
    weights = op.weights.data
    taps = op.window.kernel.h * op.window.kernel.w
    if weights is None or op.multiplier != 1 or taps > _MOST_TAPS:
        return
    vertical, horizontal = axes_of(op)
    filters = weights.reshape(op.window.kernel.h, op.window.kernel.w, -1)
    in_rows = _Order(vertical, horizontal, (op.dilation.h, op.dilation.w), filters)
    in_columns = _Order(horizontal, vertical, (op.dilation.w, op.dilation.h), filters.transpose(1, 0, 2))
    for order in sorted((in_rows, in_columns), key=lambda order: order.lines.outputs > order.positions.outputs):
        scales = vector_requantization(op.output_stage, order.filters.reshape(taps, -1).T.astype(np.int64))
        if scales is not None and _fits_pairs(scales.weights):
            yield _kernel(op, order, scales)


class _Order(NamedTuple):
    """What are lines, and what positions on them."""

    lines: PlaneAxis
    positions: PlaneAxis
    dilation: tuple[int, int]  # between both
    filters: Array  # [line, position, channel]


def _kernel(op: DepthwiseConv2D, order: _Order, scales: VectorRequantization) -> Kernel:
    """The kernel of one order."""
    name = "lanes" if order.lines.is_vertical else "lanes_transposed"
    taps = len(order.filters) * len(order.filters[0])
    words = packing((name, op.output_stage.key), _stream_words(op.channels, taps), lambda: _stream(scales))
    return NativeMveDepthwiseLanesS8(
        function=f"tg_native_mve_depthwise_lanes{'_relu' if scales.is_relu else ''}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table(name, words),),
        scratch_bytes=0 if op.padding == NO_PADDING else op.input.shape[3],
        batches=op.input.shape[0],
        channels=op.input.shape[3],
        input_bytes=op.input.type.elements // op.input.shape[0],
        output_bytes=op.output.type.elements // op.output.shape[0],
        lines=order.lines,
        positions=order.positions,
        line_dilation=order.dilation[0],
        position_dilation=order.dilation[1],
        zero_point=op.input.type.zero_point,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


def _fits_pairs(weights: Array) -> bool:
    """Whether products of the elements that are added as 16-bit values fit these, [channels, elements]."""
    sizes = np.abs(weights[:, weights.shape[1] % 2 :])
    return int((sizes[:, ::2] + sizes[:, 1::2]).max(initial=0)) <= _LARGEST_PAIR


def _form(taps: int) -> StreamForm:
    """Of each 16 channels: biases; 16 weights of each tap; multipliers and shifts."""
    return StreamForm(_LANES, _LANES // 4 * taps, 2 * _LANES)


def _stream_words(channels: int, taps: int) -> int:
    """Words of a stream."""
    return -(-channels // _LANES) * _form(taps).words


def _stream(scales: VectorRequantization) -> Array:
    """The words that tg_native_mve_lanes reads: a piece for each 16 channels."""
    missing = -len(scales.weights) % _LANES
    weights, constants = (np.pad(values, ((0, missing), (0, 0))) for values in (scales.weights, scales.scales))
    groups = len(weights) // _LANES
    filters = weights.astype(np.int8).reshape(groups, _LANES, -1).transpose(0, 2, 1)
    words = np.ascontiguousarray(filters).reshape(groups, -1).view("<i4")
    bias, multiplier, shift = constants.reshape(groups, _LANES, 3)[:, _SUMS, :].transpose(2, 0, 1)
    return np.concatenate((bias, words, multiplier, shift), axis=1).astype(np.int32).reshape(-1)


def lower_depthwise_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """By planes or by lanes: what is slower must need less scratch."""
    assert isinstance(op, DepthwiseConv2D)
    return faster_or_smaller(op, (*planes(op, prices(toolbox)), *lanes(op)), toolbox)


def in_orders(op: Op, toolbox: Toolbox) -> Iterator[Kernel]:
    """All kernels of these, with weights in every order that there is."""
    assert isinstance(op, DepthwiseConv2D)
    return chain(chain.from_iterable(planes_in_orders(op, prices(toolbox))), lanes_in_orders(op))


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveRingDepthwiseS8(RingLayerKernel, NativeKernel):
    """tg_native_mve_ring_depthwise_s8 and its variant for clamps that hide negative values."""

    template: ClassVar[str] = "native_mve_ring_depthwise_s8"
    header: ClassVar[str] = "tg_native_mve.h"

    @property
    def layout(self) -> str:
        """Of the stream."""
        return _LAYOUT


def lower_ring_depthwise(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - there is one for MVE
    """The kernel for rows in a ring; none for large filters or unusual scales."""
    assert isinstance(op, RingDepthwiseConv2D) and op.weights.data is not None
    weights = op.weights.data.reshape(op.taps, op.channels).T.astype(np.int64)
    scales = vector_requantization(op.output_stage, weights)
    if scales is None or op.taps > _MOST_TAPS or not _fits_pairs(scales.weights):
        return ()
    words = packing(("lanes", op.output_stage.key), _stream_words(op.channels, op.taps), lambda: _stream(scales))
    kernel = NativeMveRingDepthwiseS8(
        function=f"tg_native_mve_ring_depthwise{'_relu' if scales.is_relu else ''}_s8",
        tables=(Table("lanes", words),),
        **ring_fields(op),
    )
    return (kernel,)


LOWERINGS: Lowerings = {DepthwiseConv2D: lower_depthwise_conv2d, RingDepthwiseConv2D: lower_ring_depthwise}
