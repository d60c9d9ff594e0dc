"""Convolutions and fully connected layers on int16 activations with int8 or int16 weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.geometry import GeometricKernel, Geometry
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import Multiplier
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import UNIT

_LARGEST_SUM = 1 << 31  # of CMSIS-NN's products, before the bias
_LARGEST_OUTPUT = 1 << 30  # before it is clamped: CMSIS-NN holds it in 32 bits with one binary place
_LONGEST_COLUMN = 1 << 15  # CMSIS-NN counts in uint16_t
_LARGEST_WINDOW = 511  # of arm_depthwise_conv_fast_s16


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveS16(Kernel):
    """arm_convolve_s16, or the same parameters for tg_convolve_s16."""

    template: ClassVar[str] = "convolve_s16"
    takes_scratch: ClassVar[bool] = True

    geometry: Geometry
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyConvolveS16(GeometricKernel):
    """tg_convolve_s16 or tg_convolve_s16_w16: groups, and sums of any size."""

    template: ClassVar[str] = "any_convolve_s16"
    header: ClassVar[str] = "tg_int16.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConvS16(ConvolveS16):
    """arm_depthwise_conv_s16 or arm_depthwise_conv_fast_s16."""

    template: ClassVar[str] = "depthwise_conv_s16"

    ch_mult: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedS16(Kernel):
    """arm_fully_connected_s16: one multiplier for all units."""

    template: ClassVar[str] = "fully_connected_s16"

    activation: Clamp
    requantize: Multiplier
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


def lower_conv2d(op: Op, toolbox: Toolbox) -> Kernel:
    """arm_convolve_s16 where it is exact."""
    assert isinstance(op, Conv2D)
    geometry = Geometry.of(op.convolution_form)
    if op.groups > 1 or not _is_exact_in_library(op.output_stage, toolbox, axis=0):
        return _any_convolution(op.output_stage, geometry, op.convolution_form.filters_of_group)
    return _library_convolution(op.output_stage, geometry, toolbox)


def lower_depthwise_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """CMSIS-NN's functions where they are exact, the fastest first."""
    assert isinstance(op, DepthwiseConv2D)
    _, height, width, channels = op.weights.shape
    geometry = Geometry.of(op.convolution_form)
    if not _is_exact_in_library(op.output_stage, toolbox, axis=3):
        return (_any_convolution(op.output_stage, geometry, op.multiplier, (3, 1, 2, 0)),)
    channels_last = replace(geometry, filter_dims=Dims(1, height, width, channels))
    return tuple(
        DepthwiseConvS16(
            function=function,
            reads=(op.input,),
            writes=(op.output,),
            tables=_tables(op.output_stage, channels),
            scratch_bytes=scratch_bytes,
            geometry=channels_last,
            activation=op.clamp,
            ch_mult=op.multiplier,
        )
        for function, scratch_bytes in _depthwise_functions(op, toolbox)
    )


def lower_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:
    """arm_fully_connected_s16 where it is exact; with a multiplier for each unit a convolution of one row of pixels."""
    assert isinstance(op, FullyConnected)
    units, features = op.weights.shape
    stage = op.output_stage
    pixels = Geometry(Dims(1, 1, op.rows, features), Dims(units, 1, 1, features), Dims(1, 1, op.rows, units))
    if not _is_exact_in_library(stage, toolbox, axis=0):
        return _any_convolution(stage, pixels, units)
    multiplier, shift = stage.multipliers
    if len(multiplier) > 1:
        return _library_convolution(stage, pixels, toolbox)
    return FullyConnectedS16(
        function="arm_fully_connected_s16",
        reads=(op.input,),
        writes=(op.output,),
        tables=weight_tables(op.weights, op.bias),
        activation=op.clamp,
        requantize=Multiplier(int(multiplier[0]), int(shift[0])),
        input_dims=Dims(op.rows, 1, 1, features),
        filter_dims=Dims(features, 1, 1, units),
        output_dims=Dims(op.rows, 1, 1, units),
    )


def lower_transpose_conv2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """tg_transpose_conv_s16."""
    assert isinstance(op, TransposeConv2D)
    channels, height, width, depth = op.weights.shape
    geometry = Geometry(
        Dims.nhwc(op.input.type),
        Dims(channels, height, width, depth),
        Dims.nhwc(op.output.type),
        TileStruct.of(op.stride),
        TileStruct(w=op.left, h=op.top),
    )
    return replace(_any_convolution(op.output_stage, geometry, channels), function="tg_transpose_conv_s16")


def _is_exact_in_library(stage: OutputStage, toolbox: Toolbox, axis: int) -> bool:
    """Whether CMSIS-NN is linked and none of its 32-bit sums can overflow, whatever the inputs; channels on `axis`."""
    if toolbox.library is Library.PORTABLE or stage.weights.type.dtype is not DType.INT8:
        return False
    filters = np.moveaxis(_constant(stage.weights), axis, 0)
    filters = filters.reshape(filters.shape[0], -1).astype(np.int64)
    largest = np.abs(filters).sum(axis=1) << 15
    if filters.shape[1] >= _LONGEST_COLUMN or largest.max() >= _LARGEST_SUM:
        return False
    if stage.bias is not None:
        largest = largest + np.abs(_constant(stage.bias).astype(np.int64))
    return bool((largest * np.array(stage.factors) < _LARGEST_OUTPUT).all())


def _library_convolution(stage: OutputStage, geometry: Geometry, toolbox: Toolbox) -> ConvolveS16:
    filters = geometry.filter_dims
    column = filters.h * filters.w * filters.c
    return ConvolveS16(
        function="arm_convolve_s16",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=_tables(stage, filters.n),
        scratch_bytes=64 * -(-column // 8) if toolbox.has_mve_kernels else 4 * column,
        geometry=geometry,
        activation=stage.clamp,
    )


def _any_convolution(
    stage: OutputStage, geometry: Geometry, filters_of_group: int, order: Sequence[int] | None = None
) -> AnyConvolveS16:
    """tg_convolve_s16, or of int16 weights its other form; the axes of the weights are stored in `order`."""
    weights = _constant(stage.weights)
    stored = weights if order is None else np.ascontiguousarray(weights.transpose(order))
    bias = () if stage.bias is None else (Table("bias", _constant(stage.bias)),)
    return AnyConvolveS16(
        function="tg_convolve_s16_w16" if stage.weights.type.dtype is DType.INT16 else "tg_convolve_s16",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(Table("weights", stored), *bias, *per_channel_tables(stage, geometry.filter_dims.n)),
        geometry=geometry,
        activation=stage.clamp,
        filters_of_group=filters_of_group,
    )


def _depthwise_functions(op: DepthwiseConv2D, toolbox: Toolbox) -> tuple[tuple[str, int], ...]:
    """Functions with their scratch."""
    area = op.window.kernel.h * op.window.kernel.w
    generic = ("arm_depthwise_conv_s16", 0)
    has_fast = toolbox.has_dsp_kernels or toolbox.has_mve_kernels
    if not has_fast or op.multiplier != 1 or op.dilation != UNIT or area > _LARGEST_WINDOW:
        return (generic,)
    columns = 2 * area * op.input.shape[3]
    return (("arm_depthwise_conv_fast_s16", 4 * columns + 8 if toolbox.has_mve_kernels else columns), generic)


def _tables(stage: OutputStage, channels: int) -> tuple[Table, ...]:
    return weight_tables(stage.weights, stage.bias) + per_channel_tables(stage, channels)


def _constant(tensor: Tensor) -> "np.typing.NDArray[np.generic]":
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' must be a constant")
    return tensor.data


LOWERINGS: Lowerings = {
    Conv2D: lower_conv2d,
    DepthwiseConv2D: lower_depthwise_conv2d,
    FullyConnected: lower_fully_connected,
    TransposeConv2D: lower_transpose_conv2d,
}
