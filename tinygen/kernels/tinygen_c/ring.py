"""Rows that are kept in rings, and layers that read them there."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.rows import row_bytes
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.tinygen_c.recurrent import starts_of
from tinygen.ops.clamp import Clamp
from tinygen.ops.ring_depthwise_conv2d import RingDepthwiseConv2D
from tinygen.ops.ring_push import RingPush


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
    weights = op.weights.data.reshape(op.taps, op.channels)
    biases = op.output_stage.biases(op.channels) - op.input.type.zero_point * weights.astype(np.int64).sum(axis=0)
    multipliers, shifts = (np.broadcast_to(values, op.channels) for values in op.output_stage.multipliers)
    return RingDepthwiseS8(
        function="tg_ring_depthwise_s8",
        reads=(op.input, op.ring, op.place),
        writes=(op.output,),
        tables=(
            Table("weights", weights),
            Table("starts", starts_of(biases)),
            Table("multipliers", multipliers.astype(np.int32)),
            Table("shifts", shifts.astype(np.int32)),
        ),
        ring_rows=op.ring.shape[1],
        channels=op.channels,
        taps=op.taps,
        dilation=op.dilation,
        stride=op.stride,
        output_rows=op.output.shape[1],
        zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


LOWERINGS: Lowerings = {RingPush: lower_push, RingDepthwiseConv2D: lower_depthwise}
