"""Convolutions and fully connected layers whose weights take four, two or one bits; convolutions without scratch."""

from dataclasses import dataclass, replace
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

FILTERS_AT_ONCE = 4  # whose numbers stand in scratch, where it has room
NUMBER_BYTES = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolvePackedS8(GeometricKernel):
    """tg_convolve_packed_s8: unpacks filters to scratch, for all pixels. tg_convolve_s8: reads weights of int8 where
    they stand."""

    template: ClassVar[str] = "convolve_packed_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_packed.h"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    weight_bits: int
    filters_at_once: int


def packed_weights(weights: Tensor) -> Table:
    """The table `weights` in the order of the tensor."""
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return Table("weights", pack(weights.data, weights.type.dtype))


def bias_tables(bias: Tensor | None) -> tuple[Table, ...]:
    """The table `bias`, where there is one."""
    return () if bias is None or bias.data is None else (Table("bias", bias.data),)


def packed_convolutions(op: Conv2D) -> tuple[ConvolvePackedS8, ...]:
    """Any filter, stride, dilation and groups: the fastest kernel first."""
    filters = Dims(*op.weights.shape)
    geometry = Geometry.of_images(op.input.type, filters, op.output.type, op.stride, op.padding, op.dilation)
    return _kernels(op.output_stage, packed_weights(op.weights), geometry, filters.n // op.groups)


def packed_depthwise(op: DepthwiseConv2D) -> tuple[ConvolvePackedS8, ...]:
    """As a convolution with one group a channel, its filters stored one after the other."""
    _, height, width, channels = op.weights.shape
    filters = Dims(channels, height, width, 1)
    geometry = Geometry.of_images(op.input.type, filters, op.output.type, op.stride, op.padding, op.dilation)
    weights = Table("weights", pack(_channels_first(op.weights), op.weights.type.dtype))
    return _kernels(op.output_stage, weights, geometry, op.multiplier)


def packed_fully_connected(op: FullyConnected) -> tuple[ConvolvePackedS8, ...]:
    """As a convolution of images of one pixel."""
    units, features = op.weights.shape
    geometry = Geometry.of_rows(op.rows, features, units)
    return _kernels(op.output_stage, packed_weights(op.weights), geometry, units)


def _channels_first(weights: Tensor) -> Array:
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return np.moveaxis(weights.data[0], -1, 0)


def _kernels(
    stage: OutputStage, weights: Table, geometry: Geometry, filters_of_group: int
) -> tuple[ConvolvePackedS8, ...]:
    is_packed = stage.weights.type.dtype.is_narrow
    kernel = ConvolvePackedS8(
        function="tg_convolve_packed_s8" if is_packed else "tg_convolve_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(weights, *bias_tables(stage.bias), *per_channel_tables(stage, geometry.filter_dims.n)),
        scratch_bytes=NUMBER_BYTES * geometry.window if is_packed else 0,
        geometry=geometry,
        filters_of_group=filters_of_group,
        offsets=Offsets(input=-stage.input.type.zero_point, output=stage.output.type.zero_point),
        activation=stage.clamp,
        weight_bits=stage.weights.type.dtype.bits,
        filters_at_once=1,
    )
    if not is_packed or filters_of_group < FILTERS_AT_ONCE:
        return (kernel,)
    return (
        replace(kernel, filters_at_once=FILTERS_AT_ONCE, scratch_bytes=FILTERS_AT_ONCE * kernel.scratch_bytes),
        kernel,
    )
