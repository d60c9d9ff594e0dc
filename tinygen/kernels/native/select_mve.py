"""Which operators have native kernels on cores with MVE."""

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.native.addition_mve import lower_add
from tinygen.kernels.native.convolution_mve import lower_conv2d
from tinygen.kernels.native.depthwise_mve import lower_depthwise_conv2d
from tinygen.kernels.native.fully_connected_mve import lower_fully_connected
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected


def mve_kernels(op: Op) -> tuple[Kernel, ...]:
    """The kernels for `op`, all of int8: the fastest first, each further one with less scratch."""
    match op:
        case Add():
            return lower_add(op)
        case Conv2D():
            return lower_conv2d(op)
        case DepthwiseConv2D():
            return lower_depthwise_conv2d(op)
        case FullyConnected():
            return lower_fully_connected(op)
        case _:
            return ()
