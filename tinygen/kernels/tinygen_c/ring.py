"""Rows that are kept in rings, and layers that read them there."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.rows import row_bytes
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.tinygen_c.recurrent import starts_of
from tinygen.ops.clamp import Clamp
from tinygen.ops.ring_depthwise_conv2d import RingDepthwiseConv2D
from tinygen.ops.ring_fully_connected import RingFullyConnected
from tinygen.ops.ring_push import RingPush
from tinygen.ops.ring_reader import RingLayer
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
class RingLayerKernel(Kernel):
    """A layer of int8 on rows of a ring."""

    ring_rows: int
    taps: int
    dilation: int
    stride: int
    outputs: int  # rows of them
    units: int
    zero_point: int
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class RingLayerS8(RingLayerKernel):
    """tg_ring_depthwise_s8 or tg_ring_fully_connected_s8. The input's zero point is part of the sums' starts."""

    template: ClassVar[str] = "ring_layer_s8"
    header: ClassVar[str] = "tg_ring.h"

    row: int


@dataclass(frozen=True, eq=False, kw_only=True)
class CopyRingRows(Kernel):
    """tg_ring_rows."""

    template: ClassVar[str] = "ring_rows"
    header: ClassVar[str] = "tg_ring.h"

    ring_rows: int
    row_bytes: int
    first: int
    rows: int
    step: int


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
    assert isinstance(op, RingDepthwiseConv2D)
    return _lower_layer("tg_ring_depthwise_s8", op)


def lower_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for products with whole rows."""
    assert isinstance(op, RingFullyConnected)
    return _lower_layer("tg_ring_fully_connected_s8", op)


def ring_fields(op: RingLayer) -> dict[str, Any]:
    """The fields that any kernel for it has."""
    return {
        "reads": (op.input, op.ring, op.place),
        "writes": (op.output,),
        "ring_rows": op.ring.shape[1],
        "taps": op.taps,
        "dilation": op.dilation,
        "stride": op.stride,
        "outputs": op.outputs,
        "units": op.channels,
        "zero_point": op.output.type.zero_point,
        "activation": op.clamp,
    }


def _lower_layer(function: str, op: RingLayer) -> Kernel:
    """With weights in the order of the operator's, and numbers of each channel."""
    assert op.weights.data is not None
    weights = op.weights.data
    biases = op.output_stage.biases(op.channels) - op.input.type.zero_point * op.by_output(weights).sum(1, np.int64)
    multipliers, shifts = (np.broadcast_to(values, op.channels) for values in op.output_stage.multipliers)
    tables = (
        Table("weights", weights.reshape(-1, weights.shape[-1])),
        Table("starts", starts_of(biases)),
        Table("multipliers", multipliers.astype(np.int32)),
        Table("shifts", shifts.astype(np.int32)),
    )
    return RingLayerS8(function=function, tables=tables, row=row_bytes(op.ring), **ring_fields(op))


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
        step=op.step,
    )


LOWERINGS: Lowerings = {
    RingPush: lower_push,
    RingRows: lower_rows,
    RingDepthwiseConv2D: lower_depthwise,
    RingFullyConnected: lower_fully_connected,
}
