"""Which operators have native kernels."""

from collections.abc import Callable, Mapping

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.native.addition import lower_add
from tinygen.kernels.native.convolution import lower_conv2d
from tinygen.kernels.native.depthwise import lower_depthwise_conv2d
from tinygen.kernels.native.fully_connected import lower_fully_connected
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.native.pooling import lower_average_pool2d, lower_max_pool2d
from tinygen.kernels.native.select_mve import mve_kernels
from tinygen.kernels.native.winograd import with_tiles
from tinygen.kernels.prices import prices
from tinygen.kernels.tinygen_c.asymmetric import has_zero_points
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.targets.isa import Isa

_LOWERINGS: Mapping[type[Op], Callable[[Op], Kernel | None]] = {
    Add: lower_add,
    AveragePool2D: lower_average_pool2d,
    MaxPool2D: lower_max_pool2d,
}
_LOWERINGS_BY_ISA: Mapping[type[Op], Callable[[Op, Isa], Kernel | None]] = {
    Conv2D: lower_conv2d,
    DepthwiseConv2D: lower_depthwise_conv2d,
    FullyConnected: lower_fully_connected,
}


def is_native(kernel: Kernel) -> bool:
    """Whether the kernel is one of tinygen's own."""
    return isinstance(kernel, NativeKernel)


def native_kernels(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The native kernels for `op`: the fastest first, each further one with less scratch."""
    is_int8 = all(tensor.type.dtype is DType.INT8 for tensor in (*op.variable_operands, *op.results))
    is_int8 &= not any(
        tensor.type.dtype.is_narrow or has_zero_points(tensor) or tensor.coding for tensor in op.operands
    )
    if toolbox.isa is Isa.MVE:
        return mve_kernels(op, prices(toolbox)) if is_int8 else ()
    kernel = _lowered(op, toolbox.isa) if is_int8 else None
    if kernel is None:
        return ()
    return with_tiles(op, kernel, toolbox) if isinstance(op, Conv2D) else (kernel,)


def _lowered(op: Op, isa: Isa) -> Kernel | None:
    by_isa = _LOWERINGS_BY_ISA.get(type(op))
    if by_isa is not None:
        return by_isa(op, isa)
    lower = _LOWERINGS.get(type(op))
    return None if lower is None else lower(op)
