"""Which operators have native kernels on cores with MVE."""

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.native.addition_mve import lower_add
from tinygen.kernels.native.convolution_mve import lower_conv2d
from tinygen.kernels.native.depthwise_lanes_mve import lower_lanes
from tinygen.kernels.native.depthwise_mve import lower_depthwise_conv2d
from tinygen.kernels.native.fully_connected_mve import lower_fully_connected
from tinygen.kernels.native.multiplication_mve import lower_mul
from tinygen.kernels.native.pooling_mve import lower_pool
from tinygen.kernels.prices import Prices
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D


def mve_kernels(op: Op, prices: Prices) -> tuple[Kernel, ...]:
    """The kernels for `op`, all of int8: the fastest first, each further one with less scratch."""
    match op:
        case Add():
            return lower_add(op)
        case Conv2D():
            return lower_conv2d(op, prices)
        case DepthwiseConv2D():
            return _depthwise(op, prices)
        case FullyConnected():
            return lower_fully_connected(op)
        case Mul():
            return lower_mul(op)
        case AveragePool2D() | MaxPool2D():
            return lower_pool(op)
        case _:
            return ()


def _depthwise(op: DepthwiseConv2D, prices: Prices) -> tuple[Kernel, ...]:
    """By planes or by lanes: what is slower must need less scratch."""
    kernels = sorted(
        (*lower_depthwise_conv2d(op), *lower_lanes(op)),
        key=lambda kernel: prices.cheapest(kernel.works(op)),
    )
    useful: list[Kernel] = []
    for kernel in kernels:
        if not useful or kernel.scratch_bytes < useful[-1].scratch_bytes:
            useful.append(kernel)
    return tuple(useful)
