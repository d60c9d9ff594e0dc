"""Depthwise convolutions on cores with MVE, channel by channel over padded planes: see docs/kernels.md."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.plane_axes import PlaneAxis, axes_of
from tinygen.kernels.native.requantization_mve import VectorRequantization, vector_requantization
from tinygen.kernels.packing import packing
from tinygen.kernels.prices import Prices
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.window import UNIT

_LANES = 16
_MOVED = 4  # zeros before a filter of one line, which is moved by up to 3
_GROUP = 8  # channels of a vector
_AT_ONCE = 8  # outputs
_SCRATCH_BYTES = 5120  # for planes, unless the fewest take more
_MOST_MOVED = 13  # positions of a filter that fit a vector when moved by up to 3
_LARGEST_STEP = 0xFFFF  # distances of outputs are 16-bit numbers


class PlaneLayout(Enum):
    """What a word of a plane holds, and what is computed at once."""

    TILES = "2x2 outputs, words of 4 lines"
    COLUMNS = "outputs of a line, words of 4 lines"
    LINES = "outputs of a line, words of 4 positions"
    LINE = "the same with 4 outputs of a vector, for filters of one line"


@dataclass(frozen=True)
class Plan:
    """A way to compute a layer."""

    layout: PlaneLayout
    lines: PlaneAxis
    positions: PlaneAxis

    def on(self, op: DepthwiseConv2D, rows: int | None) -> "Plan":
        """The same for rows of the result."""
        vertical, horizontal = axes_of(op, rows)
        return (
            replace(self, lines=vertical, positions=horizontal)
            if self.lines.is_vertical
            else replace(self, lines=horizontal, positions=vertical)
        )

    @property
    def variant(self) -> str:
        """Of the function's name."""
        return {PlaneLayout.TILES: "_3x3", PlaneLayout.LINE: "_line"}.get(self.layout, "")

    @property
    def lines_in_word(self) -> int:
        """Of inputs; where it is 1, a word has 4 positions of a line."""
        return 4 if self.layout in (PlaneLayout.TILES, PlaneLayout.COLUMNS) else 1

    @property
    def lines_in_step(self) -> int:
        """Lines of output that are computed together."""
        return 2 if self.layout is PlaneLayout.TILES else 1

    @property
    def words(self) -> int:
        """Of a line of a plane."""
        reach = self.positions.reach
        return -(-reach // 4) if self.lines_in_word == 1 else reach

    @property
    def runs(self) -> int:
        """Of words of a line that are packed at once: where a word has 4 positions, those with padding are alone."""
        if self.lines_in_word == 4:
            return 1
        before = min(-(-self.positions.before // 4), self.words)
        whole = (self.positions.inputs + self.positions.before) // 4 - before
        inside = min(max(whole, 0), self.words - before)
        return self.words - inside + (inside > 0)

    @property
    def position_bytes(self) -> int:
        """Of a plane between outputs of a line."""
        return self.positions.stride * self.lines_in_word

    @property
    def vectors(self) -> int:
        """Of a filter."""
        return self.lines.taps if self.layout is PlaneLayout.LINES else 1

    @property
    def channel_words(self) -> int:
        """Of a channel's stream: vectors of its filter, and three constants."""
        if self.lines_in_word == 1:
            return 3 + self.lines.taps * (_LANES + (_MOVED if self.layout is PlaneLayout.LINE else 0)) // 4
        return 3 + (self.positions.taps + 2 if self.layout is PlaneLayout.TILES else 4)

    @property
    def slack_bytes(self) -> int:
        """Read behind the last line, by vectors whose last lanes do not matter and for outputs that are not stored."""
        computed = -(-self.positions.outputs // _AT_ONCE) * _AT_ONCE
        return max(0, (computed - 1) * self.position_bytes + _LANES - 4 * self.words)

    def plane_bytes(self, lines: int) -> int:
        """Of one channel, for so many lines of output."""
        if self.lines_in_word == 1:
            return 4 * self.words * ((lines - 1) * self.lines.stride + self.lines.taps)
        return 4 * self.words * (lines // self.lines_in_step)

    def scratch_bytes(self, lines: int, channels: int) -> int:
        """Of planes of so many channels, for so many lines of output."""
        return channels * self.plane_bytes(lines) + self.slack_bytes

    @property
    def is_possible(self) -> bool:
        """Whether the kernels can do it."""
        lines, positions = self.lines, self.positions
        if positions.stride > 2 or 4 * positions.output_step + lines.output_step > _LARGEST_STEP:
            return False
        is_near = _AT_ONCE * positions.output_step <= _LARGEST_STEP
        if self.layout is PlaneLayout.LINES:
            return positions.taps <= _LANES and is_near
        if self.layout is PlaneLayout.LINE:
            return lines.taps == positions.stride == 1 and positions.taps <= _MOST_MOVED and is_near
        if self.layout is PlaneLayout.COLUMNS:
            return max(lines.taps, positions.taps) <= 4 and is_near
        strides = max(lines.stride, positions.stride)
        return lines.taps == positions.taps == 3 and strides == 1 and min(lines.outputs, positions.outputs) > 1


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveDepthwiseS8(NativeKernel):
    """tg_native_mve_depthwise_s8 and its variants for 3x3 and 1xN filters and for clamps that hide negative values."""

    template: ClassVar[str] = "native_mve_depthwise_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native_mve.h"
    takes_scratch: ClassVar[bool] = True

    batches: int
    channels: int
    input_bytes: int
    output_bytes: int
    lines: PlaneAxis
    positions: PlaneAxis
    position_bytes: int
    lines_in_word: int
    words: int
    plane_bytes: int
    channels_at_once: int
    lines_in_step: int
    lines_at_once: int
    channel_words: int
    zero_point: int
    output_zero_point: int
    activation: Clamp
    is_relu: bool  # the clamp hides negative values
    plan: Plan

    @property
    def layout(self) -> str:
        """Of the stream."""
        return "For each channel: the filter as vectors see it; bias, multiplier, shift. See tg_native_mve_planes.h."

    @property
    def stream_form(self) -> StreamForm:
        return StreamForm(0, self.channel_words - 3, 3)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """With the most lines and channels at once that the scratch has room for."""
        assert isinstance(op, DepthwiseConv2D)
        plan, share = self.plan.on(op, rows), 1.0
        if not plan.is_possible:  # it needs more rows
            plan, share = self.plan, 1.0 if rows is None else rows / op.output.shape[1]
        return self._by(op, plan, rows if share == 1.0 else None, columns).part(share)

    def works(self, op: Op, rows: int | None = None, columns: int | None = None) -> tuple[Work, ...]:
        """Parts may be computed in another way, if the scratch has room for it."""
        assert isinstance(op, DepthwiseConv2D)
        if rows is None:
            return (self.work(op, rows, columns),)
        ways = [plan for plan in possible_plans(op, rows) if plan.scratch_bytes(*_fewest(plan)) <= self.scratch_bytes]
        return tuple(self._by(op, plan, rows, columns) for plan in ways) or (self.work(op, rows, columns),)

    def _by(self, op: DepthwiseConv2D, plan: Plan, rows: int | None, columns: int | None) -> Work:
        done = planes_work(op, plan, self.scratch_bytes, self.is_relu, rows)
        return done if columns is None else done.part(columns / op.output.shape[2])


def planes_work(op: DepthwiseConv2D, plan: Plan, scratch_bytes: int, is_relu: bool, rows: int | None = None) -> Work:
    """What a way takes with so much scratch, for rows of the result.

    planes: a call for lines and channels whose planes fit the scratch; packed_line, packed_run: of planes;
    packed_group, packed_word: 8 channels of a run and of a word; channel, channel_line: of planes; moved, dots, vector:
    8 outputs, 4 of a vector, one of a vector, one of each vector.
    """
    batches, channels = op.input.shape[0], op.input.shape[3]
    sizes = at_once(op, plan)
    most_lines, most_channels = next((s for s in sizes if plan.scratch_bytes(*s) <= scratch_bytes), sizes[-1])
    step = plan.lines_in_step
    whole, left = plan.lines.outputs // step * step, plan.lines.outputs % step
    blocks = [min(most_lines, whole - first) for first in range(0, whole, most_lines)] + [step] * (left > 0)
    steps = batches * sum(lines // step for lines in blocks)
    packed = steps
    if plan.lines_in_word == 1:
        packed = batches * sum((lines - 1) * plan.lines.stride + plan.lines.taps for lines in blocks)
    calls, groups = -(-channels // most_channels), -(-channels // _GROUP)
    times = batches * len(blocks)
    eights = channels * steps * -(-plan.positions.outputs * step // _AT_ONCE)
    return work(
        _function(plan, is_relu),
        call=1,
        planes=times * calls,
        packed_line=packed * calls,
        packed_run=packed * calls * plan.runs,
        packed_group=packed * groups * plan.runs,
        packed_word=packed * groups * plan.words,
        channel=times * channels,
        channel_line=channels * steps,
        **_eights(plan, eights),
        clamped=clamped(op, rows),
    )


def planes(op: DepthwiseConv2D, prices: Prices) -> tuple[Kernel, ...]:
    """The kernels for `op` by the cheapest way, the fastest first; none for multipliers, dilation, wide filters or
    unusual scales.
    """
    return next(planes_in_orders(op, prices), ())


def planes_in_orders(op: DepthwiseConv2D, prices: Prices) -> Iterator[tuple[Kernel, ...]]:
    """The same by each way, whose weights stand in orders of their own: the cheapest way first."""
    weights = op.weights.data
    if weights is None or op.multiplier != 1 or op.dilation != UNIT:
        return
    ways = possible_plans(op)
    taps = op.window.kernel.h * op.window.kernel.w
    scales = vector_requantization(op.output_stage, weights.reshape(taps, -1).T.astype(np.int64))
    if not ways or scales is None:
        return
    is_relu = scales.is_relu

    def instructions(way: Plan) -> float:
        return prices.instructions(planes_work(op, way, way.scratch_bytes(*at_once(op, way)[0]), is_relu))

    for plan in sorted(ways, key=instructions):
        yield _of_plan(op, plan, scales)


def _of_plan(op: DepthwiseConv2D, plan: Plan, scales: VectorRequantization) -> tuple[Kernel, ...]:
    name = _table_name(plan)
    words = packing(
        (name, op.output_stage.key), len(scales.weights) * plan.channel_words, lambda: _stream(plan, scales)
    )
    tables = (Table(name, words),)
    return tuple(_kernel(op, plan, scales, tables, *sizes) for sizes in at_once(op, plan))


def possible_plans(op: DepthwiseConv2D, rows: int | None = None) -> tuple[Plan, ...]:
    """The ways to compute rows of the result, perhaps none."""
    vertical, horizontal = axes_of(op, rows)
    plans = (Plan(layout, *axes) for layout in PlaneLayout for axes in ((vertical, horizontal), (horizontal, vertical)))
    return tuple(plan for plan in plans if plan.is_possible)


def _fewest(plan: Plan) -> tuple[int, int]:
    """The fewest lines and channels that planes are made for."""
    return plan.lines_in_step, _GROUP


def at_once(op: DepthwiseConv2D, plan: Plan) -> tuple[tuple[int, int], ...]:
    """Numbers of lines and channels that planes are made for: as many as are useful, and the fewest."""
    step, groups = plan.lines_in_step, -(-op.input.shape[3] // _GROUP)
    most = max(plan.lines.outputs // step * step, step)
    room = _SCRATCH_BYTES // _GROUP
    lines = next((n for n in range(most, step, -step) if plan.plane_bytes(n) <= room), step)
    useful = (lines, _GROUP * max(1, min(groups, room // plan.plane_bytes(lines))))
    fewest = _fewest(plan)
    return (useful, fewest) if useful != fewest else (fewest,)


def _function(plan: Plan, is_relu: bool) -> str:
    return f"tg_native_mve_depthwise{plan.variant}{'_relu' if is_relu else ''}_s8"


def _eights(plan: Plan, times: int) -> dict[str, float]:
    """The term for 8 outputs."""
    if plan.variant:
        return {"moved": times}
    return {"dots": times} if plan.vectors == 1 else {"vector": times * plan.vectors}


def _table_name(plan: Plan) -> str:
    """Tiles of one operator may differ in their plans, so their tables have different names."""
    return f"{plan.layout.name.lower()}{'' if plan.lines.is_vertical else '_transposed'}"


def _stream(plan: Plan, scales: VectorRequantization) -> Array:
    """The words that tg_native_mve_tiles and tg_native_mve_dots read."""
    channels = len(scales.weights)
    shape = (plan.lines.taps, plan.positions.taps)
    filters = scales.weights.reshape(channels, *(shape if plan.lines.is_vertical else shape[::-1]))
    if not plan.lines.is_vertical:
        filters = filters.transpose(0, 2, 1)
    if plan.lines_in_word == 1:
        before = _MOVED if plan.layout is PlaneLayout.LINE else 0
        vectors = np.pad(filters, ((0, 0), (0, 0), (before, _LANES - shape[1])))
    else:
        columns = np.pad(filters, ((0, 0), (0, 4 - shape[0]), (0, 0))).transpose(0, 2, 1)
        around = (1, 1) if plan.layout is PlaneLayout.TILES else (0, 4 - shape[1])
        vectors = np.pad(columns, ((0, 0), around, (0, 0)))
    words = np.ascontiguousarray(vectors.astype(np.int8)).reshape(channels, -1).view("<i4")
    return np.concatenate((words, scales.scales), axis=1).astype(np.int32).reshape(-1)


def _kernel(
    op: DepthwiseConv2D,
    plan: Plan,
    scales: VectorRequantization,
    tables: tuple[Table, ...],
    lines: int,
    channels: int,
) -> Kernel:
    return NativeMveDepthwiseS8(
        function=_function(plan, scales.is_relu),
        reads=(op.input,),
        writes=(op.output,),
        tables=tables,
        scratch_bytes=plan.scratch_bytes(lines, channels),
        batches=op.input.shape[0],
        channels=op.input.shape[3],
        input_bytes=op.input.type.elements // op.input.shape[0],
        output_bytes=op.output.type.elements // op.output.shape[0],
        lines=plan.lines,
        positions=plan.positions,
        position_bytes=plan.position_bytes,
        lines_in_word=plan.lines_in_word,
        words=plan.words,
        plane_bytes=plan.plane_bytes(lines),
        channels_at_once=channels,
        lines_in_step=plan.lines_in_step,
        lines_at_once=lines,
        channel_words=plan.channel_words,
        zero_point=op.input.type.zero_point,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
        is_relu=scales.is_relu,
        plan=plan,
    )
