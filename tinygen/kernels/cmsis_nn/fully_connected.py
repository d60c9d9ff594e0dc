"""Fully connected layers, per tensor and per channel."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Table, Toolbox
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedS8(Kernel):
    """arm_fully_connected_s8: one multiplier for all units."""

    template: ClassVar[str] = "fully_connected_s8"

    offsets: Offsets
    activation: Clamp
    requantize: Multiplier
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedPerChannelS8(Kernel):
    """arm_fully_connected_per_channel_s8: one multiplier per unit."""

    template: ClassVar[str] = "fully_connected_per_channel_s8"

    offsets: Offsets
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


def lower_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:
    """The fully connected kernel for `op`."""
    assert isinstance(op, FullyConnected)
    units, features = op.weights.shape
    offsets = Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point)
    input_dims = Dims(op.rows, 1, 1, features)
    filter_dims = Dims(features, 1, 1, units)
    output_dims = Dims(op.rows, 1, 1, units)
    tables = weight_tables(op.weights, op.bias) + _kernel_sums(op, toolbox)
    multiplier, shift = op.output_stage.multipliers
    if len(multiplier) > 1:
        return FullyConnectedPerChannelS8(
            function="arm_fully_connected_per_channel_s8",
            reads=(op.input,),
            writes=(op.output,),
            tables=tables + per_channel_tables(op.output_stage, units),
            offsets=offsets,
            activation=op.clamp,
            input_dims=input_dims,
            filter_dims=filter_dims,
            output_dims=output_dims,
        )
    return FullyConnectedS8(
        function="arm_fully_connected_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=tables,
        offsets=offsets,
        activation=op.clamp,
        requantize=Multiplier(int(multiplier[0]), int(shift[0])),
        input_dims=input_dims,
        filter_dims=filter_dims,
        output_dims=output_dims,
    )


def _kernel_sums(op: FullyConnected, toolbox: Toolbox) -> tuple[Table, ...]:
    """With MVE the library reads bias + input offset * sum of weights from `ctx.buf`: constants, so in flash."""
    if not toolbox.has_mve_kernels or op.weights.data is None:
        return ()
    sums = op.weights.data.astype(np.int64).sum(axis=1) * -op.input.type.zero_point
    if op.bias is not None and op.bias.data is not None:
        sums = sums + op.bias.data
    return (Table("kernel_sums", sums.astype(np.int32)),)
