"""Convolutions: the specific function where its conditions hold, as CMSIS-NN's wrapper would choose it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, Tile
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.window import NO_PADDING, UNIT


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveS8(Kernel):
    """arm_convolve_s8: any filter, stride, dilation and groups."""

    template: ClassVar[str] = "convolve_s8"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    stride: Tile
    padding: Tile
    dilation: Tile
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolve1x1S8(ConvolveS8):
    """arm_convolve_1x1_s8[_fast] and arm_convolve_1_x_n_s8: the same parameters without `upscale_dims`."""

    template: ClassVar[str] = "convolve_1x1_s8"


def lower_conv2d(op: Op, toolbox: Toolbox) -> Kernel:
    """The convolution kernel for `op`."""
    assert isinstance(op, Conv2D)
    kind, function, scratch_bytes = _choose(op, toolbox)
    channels, height, width, depth = op.weights.shape
    return kind(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        tables=weight_tables(op.weights, _bias(op)) + per_channel_tables(op.output_stage, channels),
        scratch_bytes=scratch_bytes,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        stride=Tile.of(op.stride),
        padding=Tile(w=op.padding.left, h=op.padding.top),
        dilation=Tile.of(op.dilation),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(channels, height, width, depth),
        output_dims=Dims.nhwc(op.output.type),
    )


def _bias(op: Conv2D) -> Tensor | None:
    """The bias; zeros where groups lack one: from the second group on the library reads behind a bias of NULL."""
    if op.bias is not None or op.groups == 1:
        return op.bias
    zeros = np.zeros(op.weights.shape[0], np.int32)
    return Tensor(f"{op.name}:zeros", TensorType(DType.INT32, zeros.shape), zeros)


def _choose(op: Conv2D, toolbox: Toolbox) -> tuple[type[ConvolveS8], str, int]:
    if toolbox.library is Library.PORTABLE:
        return ConvolveS8, "arm_convolve_s8", 0
    if _is_1x1(op):
        function = "arm_convolve_1x1_s8_fast" if op.stride == UNIT else "arm_convolve_1x1_s8"
        return Convolve1x1S8, function, 0
    return ConvolveS8, "arm_convolve_s8", convolve_s8_scratch_bytes(op, toolbox)


def _is_1x1(op: Conv2D) -> bool:
    return op.window.kernel == UNIT and op.padding == NO_PADDING and op.dilation == UNIT and op.groups == 1


def convolve_s8_scratch_bytes(op: Conv2D, toolbox: Toolbox) -> int:
    """Scratch of arm_convolve_s8.

    The library takes the input's channels for the depth, also where groups make the filters shallower.
    """
    kernel = op.window.kernel
    return im2col_bytes(kernel.h * kernel.w * op.input.shape[3], toolbox)


def im2col_bytes(column: int, toolbox: Toolbox) -> int:
    """Two int16 columns of an im2col matrix, or with MVE four int8 columns in whole vectors."""
    if toolbox.has_mve_kernels:
        return 64 * -(-column // 16)
    return 4 * (4 * -(-column // 4))
