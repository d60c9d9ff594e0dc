"""Rows that are kept in rings, and layers that read them there."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.rows import row_bytes
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.tinygen_c.recurrent import starts_of
from tinygen.ops.clamp import Clamp
from tinygen.ops.ring_depthwise_conv2d import RingDepthwiseConv2D
from tinygen.ops.ring_fully_connected import RingFullyConnected
from tinygen.ops.ring_push import RingPush
from tinygen.ops.ring_rows import RingRows


@dataclass(frozen=True, eq=False, kw_only=True)
class PushRows(Kernel):
    """tg_ring_push."""

    template: ClassVar[str] = "ring_push"
    header: ClassVar[str] = "tg_ring.h"

    rows: int
    new_rows: int
    row_bytes: int


@dataclass(frozen=True, eq=False, kw_only=True)
class RingDepthwiseS8(Kernel):
    """tg_ring_depthwise_s8. The input's zero point is part of the sums' starts."""

    template: ClassVar[str] = "ring_depthwise_s8"
    header: ClassVar[str] = "tg_ring.h"

    ring_rows: int
    channels: int
    taps: int
    dilation: int
    stride: int
    output_rows: int
    zero_point: int
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class RingFullyConnectedS8(Kernel):
    """tg_ring_fully_connected_s8. The input's zero point is part of the sums' starts."""

    template: ClassVar[str] = "ring_fully_connected_s8"
    header: ClassVar[str] = "tg_ring.h"

    ring_rows: int
    row: int
    taps: int
    stride: int
    vectors: int
    units: int
    zero_point: int
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class CopyRingRows(Kernel):
    """tg_ring_rows."""

    template: ClassVar[str] = "ring_rows"
    header: ClassVar[str] = "tg_ring.h"

    ring_rows: int
    row_bytes: int
    first: int
    rows: int


def lower_push(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel that pushes rows of any type."""
    assert isinstance(op, RingPush)
    return PushRows(
        function="tg_ring_push",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.ring, op.place),
        rows=op.ring.shape[1],
        new_rows=op.input.shape[1],
        row_bytes=row_bytes(op.ring),
    )


def lower_depthwise(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a depthwise convolution along rows."""
    assert isinstance(op, RingDepthwiseConv2D) and op.weights.data is not None
    return RingDepthwiseS8(
        function="tg_ring_depthwise_s8",
        reads=(op.input, op.ring, op.place),
        writes=(op.output,),
        tables=_tables(op, op.weights.data, (op.taps, op.channels)),
        ring_rows=op.ring.shape[1],
        channels=op.channels,
        taps=op.taps,
        dilation=op.dilation,
        stride=op.stride,
        output_rows=op.output.shape[1],
        zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


def lower_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for products with whole rows."""
    assert isinstance(op, RingFullyConnected) and op.weights.data is not None
    return RingFullyConnectedS8(
        function="tg_ring_fully_connected_s8",
        reads=(op.input, op.ring, op.place),
        writes=(op.output,),
        tables=_tables(op, op.weights.data, op.weights.shape),
        ring_rows=op.ring.shape[1],
        row=row_bytes(op.ring),
        taps=op.taps,
        stride=op.stride,
        vectors=op.vectors,
        units=op.channels,
        zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


def _tables(op: RingDepthwiseConv2D | RingFullyConnected, weights: Array, shape: tuple[int, ...]) -> tuple[Table, ...]:
    """Weights in the shape that the kernel reads, and numbers of each channel."""
    biases = op.output_stage.biases(op.channels) - op.input.type.zero_point * op.by_output(weights).sum(1, np.int64)
    multipliers, shifts = (np.broadcast_to(values, op.channels) for values in op.output_stage.multipliers)
    return (
        Table("weights", weights.reshape(shape)),
        Table("starts", starts_of(biases)),
        Table("multipliers", multipliers.astype(np.int32)),
        Table("shifts", shifts.astype(np.int32)),
    )


def lower_rows(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel that copies rows of any type."""
    assert isinstance(op, RingRows)
    return CopyRingRows(
        function="tg_ring_rows",
        reads=(op.input, op.ring, op.place),
        writes=(op.output,),
        ring_rows=op.ring.shape[1],
        row_bytes=row_bytes(op.ring),
        first=op.first,
        rows=op.output.shape[1],
    )


LOWERINGS: Lowerings = {
    RingPush: lower_push,
    RingRows: lower_rows,
    RingDepthwiseConv2D: lower_depthwise,
    RingFullyConnected: lower_fully_connected,
}
