"""Convolutions and fully connected layers whose weights take four, two or one bits; convolutions without scratch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.packing import pack
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, Tile
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected

_POINT = Tile(w=1, h=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolvePackedS8(Kernel):
    """tg_convolve_packed_s8: unpacks one filter at a time. tg_convolve_s8: reads weights of int8 where they stand."""

    template: ClassVar[str] = "convolve_packed_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_packed.h"
    takes_scratch: ClassVar[bool] = True

    input_dims: Dims
    filter_dims: Dims  # c: the depth of one group
    output_dims: Dims
    filters_of_group: int
    stride: Tile
    padding: Tile
    dilation: Tile
    offsets: Offsets
    activation: Clamp
    weight_bits: int


def packed_weights(weights: Tensor) -> Table:
    """The table `weights` in the order of the tensor."""
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return Table("weights", pack(weights.data, weights.type.dtype))


def bias_tables(bias: Tensor | None) -> tuple[Table, ...]:
    """The table `bias`, where there is one."""
    return () if bias is None or bias.data is None else (Table("bias", bias.data),)


def packed_convolution(op: Conv2D) -> ConvolvePackedS8:
    """Any filter, stride, dilation and groups."""
    channels, height, width, depth = op.weights.shape
    return _kernel(
        op.input,
        op.output,
        op.output_stage,
        packed_weights(op.weights),
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(channels, height, width, depth),
        output_dims=Dims.nhwc(op.output.type),
        filters_of_group=channels // op.groups,
        stride=Tile.of(op.stride),
        padding=Tile(w=op.padding.left, h=op.padding.top),
        dilation=Tile.of(op.dilation),
    )


def packed_depthwise(op: DepthwiseConv2D) -> ConvolvePackedS8:
    """As a convolution with one group a channel, its filters stored one after the other."""
    _, height, width, channels = op.weights.shape
    return _kernel(
        op.input,
        op.output,
        op.output_stage,
        Table("weights", pack(_channels_first(op.weights), op.weights.type.dtype)),
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(channels, height, width, 1),
        output_dims=Dims.nhwc(op.output.type),
        filters_of_group=op.multiplier,
        stride=Tile.of(op.stride),
        padding=Tile(w=op.padding.left, h=op.padding.top),
        dilation=Tile.of(op.dilation),
    )


def packed_fully_connected(op: FullyConnected) -> ConvolvePackedS8:
    """As a convolution of images of one pixel."""
    units, features = op.weights.shape
    return _kernel(
        op.input,
        op.output,
        op.output_stage,
        packed_weights(op.weights),
        input_dims=Dims(op.rows, 1, 1, features),
        filter_dims=Dims(units, 1, 1, features),
        output_dims=Dims(op.rows, 1, 1, units),
        filters_of_group=units,
        stride=_POINT,
        padding=Tile(w=0, h=0),
        dilation=_POINT,
    )


def _channels_first(weights: Tensor) -> Array:
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return np.moveaxis(weights.data[0], -1, 0)


def _kernel(
    input: Tensor,
    output: Tensor,
    stage: OutputStage,
    weights: Table,
    *,
    input_dims: Dims,
    filter_dims: Dims,
    output_dims: Dims,
    filters_of_group: int,
    stride: Tile,
    padding: Tile,
    dilation: Tile,
) -> ConvolvePackedS8:
    is_packed = stage.weights.type.dtype.is_narrow
    return ConvolvePackedS8(
        function="tg_convolve_packed_s8" if is_packed else "tg_convolve_s8",
        reads=(input,),
        writes=(output,),
        tables=(weights, *bias_tables(stage.bias), *per_channel_tables(stage, filter_dims.n)),
        scratch_bytes=filter_dims.h * filter_dims.w * filter_dims.c if is_packed else 0,
        input_dims=input_dims,
        filter_dims=filter_dims,
        output_dims=output_dims,
        filters_of_group=filters_of_group,
        stride=stride,
        padding=padding,
        dilation=dilation,
        offsets=Offsets(input=-input.type.zero_point, output=output.type.zero_point),
        activation=stage.clamp,
        weight_bits=stage.weights.type.dtype.bits,
    )
