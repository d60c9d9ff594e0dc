"""Transposed convolutions: as a convolution of a zero-interleaved input, or scattered into a rolling buffer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.convolution import ANY_CONVOLUTION, ConvolveS8, im2col_bytes
from tinygen.kernels.cmsis_nn.loops import loops
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.ops.clamp import Clamp
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW, UNIT

_SCATTERED_CHANNELS = 16  # up to here scattering is faster (REVERSE_TCOL_EFFICIENT_THRESHOLD)


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeConvS8(Kernel):
    """arm_transpose_conv_s8: one input row after the other is added into a rolling buffer of output rows."""

    template: ClassVar[str] = "transpose_conv_s8"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    stride: TileStruct
    padding: TileStruct
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyTransposeConvS8(TransposeConvS8):
    """tg_transpose_conv_s8: any output size, without scratch, but slower."""

    template: ClassVar[str] = "any_transpose_conv_s8"
    header: ClassVar[str] = "tg_transpose_conv.h"
    takes_scratch: ClassVar[bool] = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveUpscaledS8(ConvolveS8):
    """arm_convolve_s8 on an input between whose rows and columns it reads zeros."""

    template: ClassVar[str] = "convolve_upscaled_s8"
    takes_parts: ClassVar[bool] = False

    upscale_dims: Dims

    @property
    def runner(self) -> str:
        return f"run_{self.function}_upscaled"


def lower_transpose_conv2d(op: Op, toolbox: Toolbox) -> Kernel | tuple[Kernel, ...]:
    """The kernels of a transposed convolution; the last one takes no scratch."""
    assert isinstance(op, TransposeConv2D)
    if toolbox.library is Library.PORTABLE:
        return _transposed(op, TransposeConvS8, "arm_transpose_conv_s8", 0)
    any_form = _transposed(op, AnyTransposeConvS8, "tg_transpose_conv_s8", 0)
    if op.input.shape[3] > _SCATTERED_CHANNELS and _is_convolution(op):
        return _convolved(op, toolbox), any_form
    if _fills_output(op):
        rolling = _transposed(op, TransposeConvS8, "arm_transpose_conv_s8", transpose_conv_s8_scratch_bytes(op))
        return rolling, any_form
    return any_form


def transpose_conv_s8_scratch_bytes(op: TransposeConv2D) -> int:
    """The rolling int32 buffer of arm_transpose_conv_s8: as many output rows as one input row reaches.

    The library's own getter takes the vertical stride for the width as well, which is too little where the horizontal
    stride is larger than that and than the filter's width.
    """
    width = (op.input.shape[2] - 1) * op.stride.w + max(op.kernel.w, op.stride.w)
    return 4 * width * max(op.kernel.h, op.stride.h) * op.output.shape[3]


def _is_convolution(op: TransposeConv2D) -> bool:
    """The library interleaves with zeros for a stride of 2 only, and takes no negative padding."""
    return max(op.stride.h, op.stride.w) <= 2 and op.top < op.kernel.h and op.left < op.kernel.w


def _fills_output(op: TransposeConv2D) -> bool:
    """Whether arm_transpose_conv_s8 writes the whole output and nothing else.

    It writes `stride.h` rows for each input row, also behind the end of a lower output, then the rest of the filter's
    height; where the output is larger than what the input reaches, it leaves rows unwritten and reads columns of the
    next row. Padding that reaches beyond the last input row puts its rolling buffer out of step.
    """
    _, height, width, _ = op.input.shape
    _, out_height, out_width, _ = op.output.shape
    rows = height * op.stride.h
    last_row = rows + max(op.kernel.h - op.stride.h, 0)
    last_column = (width - 1) * op.stride.w + max(op.kernel.w, op.stride.w)
    return op.top <= rows <= op.top + out_height <= last_row and op.left + out_width <= last_column


def _transposed(op: TransposeConv2D, kind: type[TransposeConvS8], function: str, scratch_bytes: int) -> Kernel:
    channels, height, width, depth = op.weights.shape
    return kind(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        tables=weight_tables(op.weights, op.bias) + per_channel_tables(op.output_stage, channels),
        scratch_bytes=scratch_bytes,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.left, h=op.top),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(channels, height, width, depth),
        output_dims=Dims.nhwc(op.output.type),
    )


def _convolved(op: TransposeConv2D, toolbox: Toolbox) -> Kernel:
    """Filters turned by 180 degrees move over the interleaved input; the library's wrapper turns them in RAM."""
    channels, height, width, depth = op.weights.shape
    batches, rows, columns, _ = op.input.shape
    turned, *bias = weight_tables(op.weights, op.bias)
    weights = Table("turned_weights", np.ascontiguousarray(turned.values[:, ::-1, ::-1]))
    return ConvolveUpscaledS8(
        function=ANY_CONVOLUTION,
        reads=(op.input,),
        writes=(op.output,),
        tables=(weights, *bias, *per_channel_tables(op.output_stage, channels)),
        scratch_bytes=im2col_bytes(height * width * depth, toolbox),
        loops=loops(toolbox, gathers=True),
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        stride=TileStruct.of(UNIT),
        padding=TileStruct.of(HW(height - 1 - op.top, width - 1 - op.left)),
        dilation=TileStruct.of(UNIT),
        activation=op.clamp,
        input_dims=Dims(batches, rows * op.stride.h, columns * op.stride.w, depth),
        filter_dims=Dims(channels, height, width, depth),
        output_dims=Dims.nhwc(op.output.type),
        upscale_dims=Dims(0, op.stride.h, op.stride.w, 0),
    )


LOWERINGS: Lowerings = {TransposeConv2D: lower_transpose_conv2d}
