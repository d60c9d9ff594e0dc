"""Which operators have native kernels."""

from collections.abc import Callable, Mapping

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.native.addition import lower_add
from tinygen.kernels.native.convolution import lower_conv2d
from tinygen.kernels.native.depthwise import lower_depthwise_conv2d
from tinygen.kernels.native.fully_connected import lower_fully_connected
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected

NATIVE_LOWERINGS: Mapping[type[Op], Callable[[Op], Kernel | None]] = {
    Add: lower_add,
    Conv2D: lower_conv2d,
    DepthwiseConv2D: lower_depthwise_conv2d,
    FullyConnected: lower_fully_connected,
}


def native_kernel(op: Op) -> Kernel | None:
    """The native kernel for `op`, None where there is none."""
    lower = NATIVE_LOWERINGS.get(type(op))
    return lower(op) if lower else None
