"""Depthwise convolutions."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.convolution import lower_conv2d
from tinygen.kernels.cmsis_nn.depthwise_as_convolution import as_convolution, is_cheaper_as_convolution
from tinygen.kernels.cmsis_nn.loops import loops
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables, weight_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.kernels.diagonal import Diagonal
from tinygen.kernels.tinygen_c.asymmetric import asymmetric_layer, has_zero_points
from tinygen.kernels.tinygen_c.coded import coded_layers
from tinygen.kernels.tinygen_c.packed import bias_tables, packed_layers, packed_weights
from tinygen.kernels.work import Loops
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.window import HW, UNIT

_GATHERING = "arm_depthwise_conv_s8_opt"
_MVE_CHANNEL_BLOCK = 124  # channels that the MVE kernel gathers at a time (CH_IN_BLOCK_MVE)


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConvS8(Kernel):
    """arm_depthwise_conv_s8, _s8_opt, _3x3_s8 or _s4_opt."""

    template: ClassVar[str] = "depthwise_conv_s8"
    takes_parts: ClassVar[bool] = True
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    ch_mult: int
    stride: TileStruct
    padding: TileStruct
    dilation: TileStruct
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


def lower_depthwise_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels for `op`, all of the same result: the fastest first, each further one with less scratch."""
    assert isinstance(op, DepthwiseConv2D)
    if has_zero_points(op.weights):
        return (asymmetric_layer(op),)
    if coded := coded_layers(op):
        return coded
    if op.weights.type.dtype.is_narrow:
        return (*_int4_kernels(op, toolbox), *packed_layers(op))
    weights = weight_tables(op.weights, op.bias)
    direct = tuple(
        _direct(op, function, weights, scratch_bytes, _loops(function, toolbox), _diagonal(op, toolbox))
        for function, scratch_bytes in _choices(op, toolbox)
    )
    if not is_cheaper_as_convolution(op, toolbox):
        return direct
    [convolution] = lower_conv2d(as_convolution(op), toolbox)
    return (convolution, *(kernel for kernel in direct if kernel.scratch_bytes < convolution.scratch_bytes))


def _int4_kernels(op: DepthwiseConv2D, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """arm_depthwise_conv_s4_opt with the DSP extension.

    Without it the function refuses to run, for want of scratch. With MVE it computes every other channel wrongly
    (99f736a, GCC 12).
    """
    if op.weights.type.dtype is not DType.INT4 or not _is_plain(op) or not toolbox.has_dsp_kernels:
        return ()
    tables = (packed_weights(op.weights), *bias_tables(op.bias))
    return (_direct(op, "arm_depthwise_conv_s4_opt", tables, _opt_scratch_bytes(op, toolbox), loops(toolbox)),)


def _loops(function: str, toolbox: Toolbox) -> Loops:
    """Without an extension the function that gathers is the generic one under another name."""
    return loops(toolbox, gathers=function == _GATHERING and (toolbox.has_dsp_kernels or toolbox.has_mve_kernels))


def _diagonal(op: DepthwiseConv2D, toolbox: Toolbox) -> Diagonal | None:
    if not toolbox.is_only_portable:
        return None
    return Diagonal.CHANNELS if op.multiplier == 1 else Diagonal.PIXELS


def _direct(
    op: DepthwiseConv2D,
    function: str,
    weights: tuple[Table, ...],
    scratch_bytes: int,
    way: Loops,
    diagonal: Diagonal | None = None,
) -> DepthwiseConvS8:
    _, height, width, channels = op.weights.shape
    return DepthwiseConvS8(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        tables=weights + per_channel_tables(op.output_stage, channels),
        scratch_bytes=scratch_bytes,
        diagonal=diagonal,
        loops=way,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        ch_mult=op.multiplier,
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.padding.left, h=op.padding.top),
        dilation=TileStruct.of(op.dilation),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(1, height, width, channels),
        output_dims=Dims.nhwc(op.output.type),
    )


def _choices(op: DepthwiseConv2D, toolbox: Toolbox) -> tuple[tuple[str, int], ...]:
    """Functions with their scratch.

    On M55 the 3x3 function takes about three times the instructions of the one that gathers columns in scratch, the
    generic function on M4 about four times.
    """
    if toolbox.library is Library.PORTABLE or not _is_plain(op):
        return (("arm_depthwise_conv_s8", 0),)
    kernel, pad = op.window.kernel, op.padding
    widest = max(pad.top, pad.bottom, pad.left, pad.right)  # the 3x3 kernel reads wrong columns with 2 at the right
    is_3x3 = kernel == HW(3, 3) and widest <= 1
    without_scratch = ("arm_depthwise_conv_3x3_s8" if is_3x3 else "arm_depthwise_conv_s8", 0)
    if is_3x3 and not toolbox.has_mve_kernels:
        return (without_scratch,)
    opt = (_GATHERING, _opt_scratch_bytes(op, toolbox))
    return (opt, without_scratch) if opt[1] else (opt,)


def _is_plain(op: DepthwiseConv2D) -> bool:
    return op.multiplier == 1 and op.input.shape[0] == 1 and op.dilation == UNIT


def _opt_scratch_bytes(op: DepthwiseConv2D, toolbox: Toolbox) -> int:
    area = op.window.kernel.h * op.window.kernel.w
    if toolbox.has_mve_kernels:
        return 4 * _MVE_CHANNEL_BLOCK * area
    return 2 * area * op.input.shape[3] if toolbox.has_dsp_kernels else 0


LOWERINGS: Lowerings = {DepthwiseConv2D: lower_depthwise_conv2d}
