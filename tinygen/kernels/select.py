"""The kernels of each operator: one explicit table."""

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowering, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.addition import lower_add
from tinygen.kernels.cmsis_nn.batch_matmul import lower_batch_matmul
from tinygen.kernels.cmsis_nn.concatenation import lower_concat
from tinygen.kernels.cmsis_nn.convolution import lower_conv2d
from tinygen.kernels.cmsis_nn.copying import lower_copy
from tinygen.kernels.cmsis_nn.depthwise import lower_depthwise_conv2d
from tinygen.kernels.cmsis_nn.extrema import lower_extremum
from tinygen.kernels.cmsis_nn.fully_connected import lower_fully_connected
from tinygen.kernels.cmsis_nn.multiplication import lower_mul
from tinygen.kernels.cmsis_nn.pad import lower_pad
from tinygen.kernels.cmsis_nn.pooling import lower_average_pool2d, lower_max_pool2d
from tinygen.kernels.cmsis_nn.softmax import lower_softmax
from tinygen.kernels.cmsis_nn.transpose import lower_transpose
from tinygen.kernels.cmsis_nn.transpose_conv import lower_transpose_conv2d
from tinygen.kernels.engine import lower_engine_layer
from tinygen.kernels.float32.select import FLOAT_LOWERINGS
from tinygen.kernels.int16.select import INT16_LOWERINGS
from tinygen.kernels.native.select import native_kernels
from tinygen.kernels.tinygen_c.elementwise import lower_prelu, lower_squared_difference
from tinygen.kernels.tinygen_c.gather import lower_gather
from tinygen.kernels.tinygen_c.lookup import lower_lookup
from tinygen.kernels.tinygen_c.partial_products import (
    lower_add_channel_products,
    lower_add_products,
    lower_scale_products,
)
from tinygen.kernels.tinygen_c.reduction import lower_arg_max, lower_reduce_max, lower_reduce_min, lower_sum
from tinygen.kernels.tinygen_c.resize import lower_resize_bilinear, lower_resize_nearest
from tinygen.kernels.tinygen_c.running_sum import lower_divide_sums, lower_scale_sums, lower_sum_rows
from tinygen.kernels.tinygen_c.signs import lower_pack_signs, lower_sign_conv2d, lower_sign_fully_connected
from tinygen.kernels.tinygen_c.strided_copy import (
    lower_depth_to_space,
    lower_mirror_pad,
    lower_slice,
    lower_space_to_depth,
)
from tinygen.kernels.without_scratch import without_scratch
from tinygen.ops.add import Add
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.engine_layer import EngineLayer
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.lookup import Lookup
from tinygen.ops.mul import Mul
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.running_sum import DivideSums, ScaleSums, SumRows
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.squared_difference import SquaredDifference
from tinygen.ops.transpose import Transpose
from tinygen.ops.transpose_conv2d import TransposeConv2D

LOWERINGS: Lowerings = {
    Add: lower_add,
    AddChannelProducts: lower_add_channel_products,
    AddProducts: lower_add_products,
    ArgMax: lower_arg_max,
    AveragePool2D: lower_average_pool2d,
    BatchMatMul: lower_batch_matmul,
    Concat: lower_concat,
    Conv2D: lower_conv2d,
    Copy: lower_copy,
    DepthToSpace: lower_depth_to_space,
    DepthwiseConv2D: lower_depthwise_conv2d,
    DivideSums: lower_divide_sums,
    EngineLayer: lower_engine_layer,
    FullyConnected: lower_fully_connected,
    Gather: lower_gather,
    Lookup: lower_lookup,
    MaxPool2D: lower_max_pool2d,
    Maximum: lower_extremum,
    Mean: lower_sum,
    Minimum: lower_extremum,
    MirrorPad: lower_mirror_pad,
    Mul: lower_mul,
    PackSigns: lower_pack_signs,
    Pad: lower_pad,
    Prelu: lower_prelu,
    ReduceMax: lower_reduce_max,
    ReduceMin: lower_reduce_min,
    Reshape: lower_copy,
    ResizeBilinear: lower_resize_bilinear,
    ResizeNearest: lower_resize_nearest,
    ScaleProducts: lower_scale_products,
    ScaleSums: lower_scale_sums,
    SignConv2D: lower_sign_conv2d,
    SignFullyConnected: lower_sign_fully_connected,
    Slice: lower_slice,
    Softmax: lower_softmax,
    SpaceToDepth: lower_space_to_depth,
    SquaredDifference: lower_squared_difference,
    Sum: lower_sum,
    SumRows: lower_sum_rows,
    Transpose: lower_transpose,
    TransposeConv2D: lower_transpose_conv2d,
}


def has_kernel(op: Op) -> bool:
    """Whether a kernel runs `op`; others only move or rename memory."""
    return _lowering(op) is not None


def _lowering(op: Op) -> Lowering | None:
    dtypes = {tensor.type.dtype for tensor in (*op.operands, *op.results)}
    special = FLOAT_LOWERINGS if DType.FLOAT32 in dtypes else INT16_LOWERINGS if DType.INT16 in dtypes else LOWERINGS
    return special.get(type(op)) or LOWERINGS.get(type(op))


def variants(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels that can run `op`, all of the same result: the fastest first, each further one with less scratch.

    KeyError for operators that only move or rename memory.
    """
    lower = _lowering(op)
    if lower is None:
        raise KeyError(type(op).__name__)
    found = lower(op, toolbox)
    others = found if isinstance(found, tuple) else (found,)
    if toolbox.mixes_kernels and others[-1].scratch_bytes and (smallest := without_scratch(op, toolbox)):
        others = (*others, smallest)
    native = native_kernels(op, toolbox) if toolbox.has_native_kernels else ()
    if not native:
        return others
    return (*native, *(kernel for kernel in others if kernel.scratch_bytes < native[-1].scratch_bytes))


def select(op: Op, toolbox: Toolbox, scratch_bytes: int | None = None) -> Kernel:
    """The fastest kernel that makes do with that much scratch; without a limit the fastest."""
    found = variants(op, toolbox)
    if scratch_bytes is None:
        return found[0]
    return next((kernel for kernel in found if kernel.scratch_bytes <= scratch_bytes), found[-1])
