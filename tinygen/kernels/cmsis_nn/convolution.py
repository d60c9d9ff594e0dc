"""Convolutions: the specific function where its conditions hold, as CMSIS-NN's wrapper would choose it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.loops import loops
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.kernels.diagonal import Diagonal
from tinygen.kernels.tinygen_c.asymmetric import asymmetric_layer, has_zero_points
from tinygen.kernels.tinygen_c.coded import coded_layers
from tinygen.kernels.tinygen_c.packed import bias_tables, packed_layers, packed_weights
from tinygen.kernels.work import Loops
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.window import NO_PADDING, UNIT

ANY_CONVOLUTION = "arm_convolve_s8"
_STRIDED_1X1 = "arm_convolve_1x1_s8"


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveS8(Kernel):
    """arm_convolve_s8: any filter, stride, dilation and groups."""

    template: ClassVar[str] = "convolve_s8"
    takes_parts: ClassVar[bool] = True
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    stride: TileStruct
    padding: TileStruct
    dilation: TileStruct
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolve1x1S8(ConvolveS8):
    """arm_convolve_1x1_s8[_fast] and the s4 functions: the same parameters without `upscale_dims`."""

    template: ClassVar[str] = "convolve_1x1_s8"
    takes_parts: ClassVar[bool] = True


def lower_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The convolution kernels for `op`, the fastest first; one alone where the weights are int8."""
    assert isinstance(op, Conv2D)
    if has_zero_points(op.weights):
        return (asymmetric_layer(op),)
    if coded := coded_layers(op):
        return coded
    if op.weights.type.dtype.is_narrow:
        return (*_int4_kernels(op, toolbox), *packed_layers(op))
    kind, function, scratch_bytes = _choose(op, toolbox)
    way = loops(toolbox, gathers=function == ANY_CONVOLUTION, by_rows=function == _STRIDED_1X1)
    diagonal = Diagonal.PIXELS if toolbox.is_only_portable else None
    return (_kernel(op, kind, function, weight_tables(op.weights, _bias(op)), scratch_bytes, way, diagonal),)


def _kernel(
    op: Conv2D,
    kind: type[ConvolveS8],
    function: str,
    weights: tuple[Table, ...],
    scratch_bytes: int,
    way: Loops,
    diagonal: Diagonal | None = None,
) -> ConvolveS8:
    channels, height, width, depth = op.weights.shape
    return kind(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        tables=weights + per_channel_tables(op.output_stage, channels),
        scratch_bytes=scratch_bytes,
        diagonal=diagonal,
        loops=way,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.padding.left, h=op.padding.top),
        dilation=TileStruct.of(op.dilation),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(channels, height, width, depth),
        output_dims=Dims.nhwc(op.output.type),
    )


def _int4_kernels(op: Conv2D, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """arm_convolve_1x1_s4[_fast], arm_convolve_s4 and, where it is faster, arm_convolve_even_s4; none knows groups."""
    if toolbox.library is Library.PORTABLE or op.weights.type.dtype is not DType.INT4 or op.groups > 1:
        return ()
    function, scratch_bytes = _choose_int4(op, toolbox)
    tables = (packed_weights(op.weights), *bias_tables(op.bias))
    return (_kernel(op, Convolve1x1S8, function, tables, scratch_bytes, loops(toolbox)),)


def _choose_int4(op: Conv2D, toolbox: Toolbox) -> tuple[str, int]:
    if _is_1x1(op):
        return ("arm_convolve_1x1_s4_fast" if op.stride == UNIT else "arm_convolve_1x1_s4"), 0
    column = op.weights.type.elements // op.weights.shape[0]
    is_even = toolbox.has_mve_kernels and column % 2 == 0
    scratch_bytes = im2col_bytes(column, toolbox) if toolbox.has_mve_kernels else 4 * column
    return ("arm_convolve_even_s4" if is_even else "arm_convolve_s4"), scratch_bytes


def _bias(op: Conv2D) -> Tensor | None:
    """The bias; zeros where groups lack one: from the second group on the library reads behind a bias of NULL."""
    if op.bias is not None or op.groups == 1:
        return op.bias
    zeros = np.zeros(op.weights.shape[0], np.int32)
    return Tensor(f"{op.name}:zeros", TensorType(DType.INT32, zeros.shape), zeros)


def _choose(op: Conv2D, toolbox: Toolbox) -> tuple[type[ConvolveS8], str, int]:
    if toolbox.library is Library.PORTABLE:
        return ConvolveS8, ANY_CONVOLUTION, 0
    if _is_1x1(op):
        function = "arm_convolve_1x1_s8_fast" if op.stride == UNIT else _STRIDED_1X1
        return Convolve1x1S8, function, 0
    return ConvolveS8, ANY_CONVOLUTION, convolve_s8_scratch_bytes(op, toolbox)


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


LOWERINGS: Lowerings = {Conv2D: lower_conv2d}
