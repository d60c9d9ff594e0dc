"""Convolutions and pools on float32."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.kernels.float32.coded import coded_convolution
from tinygen.kernels.float32.listed import listed_convolution
from tinygen.kernels.float32.windows import ImageStruct, WindowF32
from tinygen.kernels.work import Work
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import UNIT


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveF32(Kernel):
    """tg_convolve_f32, tg_depthwise_convolve_f32 or tg_transpose_convolve_f32."""

    template: ClassVar[str] = "convolve_f32"
    header: ClassVar[str] = "tg_float.h"

    window: WindowF32

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """point: a product of vectors, of all channels under one tap that lies inside the input; four, left: channels
        of these, that fill a vector of 4 and that do not."""
        done, depth = super().work(op, rows, columns), max(self.window.input.channels // self.window.groups, 1)
        points = done.times.get("mac", 0.0) / depth
        further = {"point": points, "four": points * (depth // 4), "left": points * (depth % 4)}
        return Work(done.function, {**done.times, **further})


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolF32(Kernel):
    """tg_average_pool_f32 or tg_max_pool_f32."""

    template: ClassVar[str] = "pool_f32"
    header: ClassVar[str] = "tg_float.h"

    window: WindowF32


def lower_convolution(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Conv2D and DepthwiseConv2D; filters of one channel each are depthwise, however the file spells them."""
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    window = WindowF32(
        batches=op.input.shape[0],
        input=ImageStruct.of(op.input.type),
        output=ImageStruct.of(op.output.type),
        kernel=op.window.kernel,
        stride=op.stride,
        dilation=op.dilation,
        top=op.padding.top,
        left=op.padding.left,
        groups=1 if isinstance(op, DepthwiseConv2D) else op.groups,
        bounds=op.clamp,
    )
    coding = op.weights.coding and op.weights.coding.as_filters(op.channel_axis)
    if coding is not None:
        groups = op.input.shape[3] // coding.codes.shape[3]
        return _coded(coding, op.input, op.output, op.bias, replace(window, groups=groups))
    weights = _values(op.weights)
    if isinstance(op, Conv2D):
        if op.groups < op.input.shape[3]:
            return _convolution("tg_convolve_f32", op.input, op.output, weights, op.bias, window)
        weights, window = weights.transpose(3, 1, 2, 0), replace(window, groups=1)
    return _convolution("tg_depthwise_convolve_f32", op.input, op.output, weights, op.bias, window)


def lower_transpose_conv2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """TransposeConv2D."""
    assert isinstance(op, TransposeConv2D)
    window = WindowF32(
        batches=op.input.shape[0],
        input=ImageStruct.of(op.input.type),
        output=ImageStruct.of(op.output.type),
        kernel=op.kernel,
        stride=op.stride,
        top=op.top,
        left=op.left,
        bounds=op.clamp,
    )
    return _convolution("tg_transpose_convolve_f32", op.input, op.output, _values(op.weights), op.bias, window)


def lower_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A fully connected layer is a 1x1 convolution over a column of vectors."""
    assert isinstance(op, FullyConnected)
    units, features = op.weights.shape
    window = WindowF32(
        batches=1,
        input=ImageStruct(op.rows, 1, features),
        output=ImageStruct(op.rows, 1, units),
        kernel=UNIT,
        bounds=op.clamp,
    )
    coding = op.weights.coding and op.weights.coding.as_filters(0)
    if coding is not None:
        return _coded(coding, op.input, op.output, op.bias, window)
    return _convolution("tg_convolve_f32", op.input, op.output, _values(op.weights), op.bias, window)


def lower_pool(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """AveragePool2D and MaxPool2D."""
    assert isinstance(op, AveragePool2D | MaxPool2D)
    return PoolF32(
        function="tg_average_pool_f32" if isinstance(op, AveragePool2D) else "tg_max_pool_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        window=WindowF32(
            batches=op.input.shape[0],
            input=ImageStruct.of(op.input.type),
            output=ImageStruct.of(op.output.type),
            kernel=op.kernel,
            stride=op.stride,
            dilation=op.window.dilation,
            top=op.padding.top,
            left=op.padding.left,
            bounds=op.clamp,
        ),
    )


def _coded(coding: Coding, input: Tensor, output: Tensor, bias: Tensor | None, window: WindowF32) -> Kernel:
    kernel = coded_convolution if coding.is_blockwise else listed_convolution
    return kernel(coding, input, output, bias, window)


def _values(weights: Tensor) -> Array:
    assert weights.data is not None
    return weights.data


def _convolution(
    function: str, input: Tensor, output: Tensor, weights: Array, bias: Tensor | None, window: WindowF32
) -> ConvolveF32:
    tables = [Table("weights", weights.astype(np.float32, order="C"))]
    if bias is not None and bias.data is not None:
        tables.append(Table("bias", bias.data.astype(np.float32)))
    return ConvolveF32(
        function=function,
        reads=(input,),
        writes=(output,),
        tables=(*constant_tables(input), *tables),
        window=window,
    )


LOWERINGS: Lowerings = {
    AveragePool2D: lower_pool,
    Conv2D: lower_convolution,
    DepthwiseConv2D: lower_convolution,
    FullyConnected: lower_fully_connected,
    MaxPool2D: lower_pool,
    TransposeConv2D: lower_transpose_conv2d,
}
