"""Fully connected layers, per tensor and per channel."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.convolution import Convolve1x1S8
from tinygen.kernels.cmsis_nn.loops import loops
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.kernels.tinygen_c.asymmetric import asymmetric_layer, has_zero_points
from tinygen.kernels.tinygen_c.coded import coded_layers
from tinygen.kernels.tinygen_c.packed import bias_tables, packed_layers, packed_weights
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedS8(Kernel):
    """arm_fully_connected_s8: one multiplier for all units."""

    template: ClassVar[str] = "fully_connected_s8"
    takes_parts: ClassVar[bool] = True

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
    takes_parts: ClassVar[bool] = True

    offsets: Offsets
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


def lower_fully_connected(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The fully connected kernels for `op`, the fastest first; one alone where the weights are int8."""
    assert isinstance(op, FullyConnected)
    if has_zero_points(op.weights):
        return (asymmetric_layer(op),)
    if coded := coded_layers(op):
        return coded
    if op.weights.type.dtype.is_narrow:
        return (*_int4_kernels(op, toolbox), *packed_layers(op))
    return (_int8_kernel(op, toolbox),)


def _int4_kernels(op: FullyConnected, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """arm_fully_connected_s4; with a multiplier for each unit the 1x1 convolution, which is the same product."""
    if toolbox.library is Library.PORTABLE or op.weights.type.dtype is not DType.INT4:
        return ()
    units, features = op.weights.shape
    multiplier, shift = op.output_stage.multipliers
    tables = (packed_weights(op.weights), *bias_tables(op.bias))
    offsets = Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point)
    output_dims = Dims(op.rows, 1, 1, units)
    if len(multiplier) == 1:
        kernel: Kernel = FullyConnectedS8(
            function="arm_fully_connected_s4",
            reads=(op.input,),
            writes=(op.output,),
            tables=tables,
            loops=loops(toolbox),
            offsets=offsets,
            activation=op.clamp,
            requantize=Multiplier(int(multiplier[0]), int(shift[0])),
            input_dims=Dims(op.rows, 1, 1, features),
            filter_dims=Dims(features, 1, 1, units),
            output_dims=output_dims,
        )
    else:
        point = TileStruct(w=1, h=1)
        kernel = Convolve1x1S8(
            function="arm_convolve_1x1_s4_fast",
            reads=(op.input,),
            writes=(op.output,),
            tables=tables + per_channel_tables(op.output_stage, units),
            loops=loops(toolbox),
            offsets=offsets,
            stride=point,
            padding=TileStruct(w=0, h=0),
            dilation=point,
            activation=op.clamp,
            input_dims=Dims(1, 1, op.rows, features),
            filter_dims=Dims(units, 1, 1, features),
            output_dims=Dims(1, 1, op.rows, units),
        )
    return (kernel,)


def _int8_kernel(op: FullyConnected, toolbox: Toolbox) -> Kernel:
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
            loops=loops(toolbox),
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
        loops=loops(toolbox),
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


LOWERINGS: Lowerings = {FullyConnected: lower_fully_connected}
