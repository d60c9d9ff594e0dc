"""Convolutions and fully connected layers whose weights take four, two or one bits; convolutions without scratch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.packing import pack
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets
from tinygen.kernels.geometry import GeometricKernel, Geometry
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolvePackedS8(GeometricKernel):
    """tg_convolve_packed_s8: unpacks one filter at a time. tg_convolve_s8: reads weights of int8 where they stand."""

    template: ClassVar[str] = "convolve_packed_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_packed.h"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
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
    filters = Dims(*op.weights.shape)
    geometry = Geometry.of_images(op.input.type, filters, op.output.type, op.stride, op.padding, op.dilation)
    return _kernel(op.output_stage, packed_weights(op.weights), geometry, filters.n // op.groups)


def packed_depthwise(op: DepthwiseConv2D) -> ConvolvePackedS8:
    """As a convolution with one group a channel, its filters stored one after the other."""
    _, height, width, channels = op.weights.shape
    filters = Dims(channels, height, width, 1)
    geometry = Geometry.of_images(op.input.type, filters, op.output.type, op.stride, op.padding, op.dilation)
    weights = Table("weights", pack(_channels_first(op.weights), op.weights.type.dtype))
    return _kernel(op.output_stage, weights, geometry, op.multiplier)


def packed_fully_connected(op: FullyConnected) -> ConvolvePackedS8:
    """As a convolution of images of one pixel."""
    units, features = op.weights.shape
    geometry = Geometry.of_rows(op.rows, features, units)
    return _kernel(op.output_stage, packed_weights(op.weights), geometry, units)


def _channels_first(weights: Tensor) -> Array:
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return np.moveaxis(weights.data[0], -1, 0)


def _kernel(stage: OutputStage, weights: Table, geometry: Geometry, filters_of_group: int) -> ConvolvePackedS8:
    is_packed = stage.weights.type.dtype.is_narrow
    return ConvolvePackedS8(
        function="tg_convolve_packed_s8" if is_packed else "tg_convolve_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(weights, *bias_tables(stage.bias), *per_channel_tables(stage, geometry.filter_dims.n)),
        scratch_bytes=geometry.window if is_packed else 0,
        geometry=geometry,
        filters_of_group=filters_of_group,
        offsets=Offsets(input=-stage.input.type.zero_point, output=stage.output.type.zero_point),
        activation=stage.clamp,
        weight_bits=stage.weights.type.dtype.bits,
    )
