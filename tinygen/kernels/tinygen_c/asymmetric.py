"""Convolutions and fully connected layers whose weights have zero points."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Dims
from tinygen.kernels.geometry import GeometricKernel, Geometry
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.quantize import flip_sign_bit
from tinygen.ops.requantize import wrap_int32

_UNSIGNED_OFFSET = 128  # weights are stored as int8, so much lower


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveAsymmetricS8(GeometricKernel):
    """tg_convolve_asymmetric_s8: sums of the inputs correct for the zero points of the weights."""

    template: ClassVar[str] = "convolve_asymmetric_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_asymmetric.h"
    takes_scratch: ClassVar[bool] = True

    input_zero_point: int
    output_zero_point: int


def has_zero_points(weights: Tensor) -> bool:
    """Whether the weights are such that only the kernels here take them."""
    return weights.type.dtype is DType.UINT8


def asymmetric_convolution(op: Conv2D) -> ConvolveAsymmetricS8:
    """Any filter, stride, dilation and groups."""
    return _convolution(op, _stored(op.weights), op.weights.shape[0] // op.groups)


def asymmetric_depthwise(op: DepthwiseConv2D) -> ConvolveAsymmetricS8:
    """As a convolution with one group a channel, its filters stored one after the other."""
    return _convolution(op, np.moveaxis(_stored(op.weights), -1, 0).transpose(0, 2, 3, 1), op.multiplier)


def asymmetric_fully_connected(op: FullyConnected) -> ConvolveAsymmetricS8:
    """As a convolution of images of one pixel."""
    units, features = op.weights.shape
    filters = _stored(op.weights).reshape(units, 1, 1, features)
    return _kernel(op.output_stage, filters, Geometry.of_rows(op.rows, features, units), units)


def _convolution(op: Conv2D | DepthwiseConv2D, filters: Array, filters_of_group: int) -> ConvolveAsymmetricS8:
    dims = Dims(*filters.shape)
    geometry = Geometry.of_images(op.input.type, dims, op.output.type, op.stride, op.padding, op.dilation)
    return _kernel(op.output_stage, filters, geometry, filters_of_group)


def _stored(weights: Tensor) -> Array:
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return flip_sign_bit(weights.data)


def _kernel(
    stage: OutputStage,
    filters: Array,  # OHWI, int8
    geometry: Geometry,
    filters_of_group: int,
) -> ConvolveAsymmetricS8:
    return ConvolveAsymmetricS8(
        function="tg_convolve_asymmetric_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(
            Table("weights", np.ascontiguousarray(filters)),
            *_correction_tables(stage, filters),
            *per_channel_tables(stage, len(filters)),
        ),
        scratch_bytes=geometry.window,
        scratch_align=1,
        geometry=geometry,
        filters_of_group=filters_of_group,
        input_zero_point=stage.input.type.zero_point,
        output_zero_point=stage.output.type.zero_point,
        activation=stage.clamp,
    )


def _correction_tables(stage: OutputStage, filters: Array) -> tuple[Table, ...]:
    """Zero points of the stored weights, and what does not depend on the input: `tg_asymmetric.h` has the formula."""
    quant, channels = stage.weights.type.quant, len(filters)
    assert quant is not None
    zero_points = np.broadcast_to(np.array(quant.zero_points, np.int64) - _UNSIGNED_OFFSET, channels)
    input_zero_point = stage.input.type.zero_point
    sums = filters.reshape(channels, -1).astype(np.int64).sum(axis=1)
    offsets = input_zero_point * (filters[0].size * zero_points - sums)
    constant = wrap_int32(stage.biases(channels) + offsets)
    return Table("zero_point", zero_points.astype(np.int32)), Table("constant", constant.astype(np.int32))
