"""The kernel of each operator: one explicit table."""

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.addition import lower_add
from tinygen.kernels.cmsis_nn.convolution import lower_conv2d
from tinygen.kernels.cmsis_nn.depthwise import lower_depthwise_conv2d
from tinygen.kernels.cmsis_nn.fully_connected import lower_fully_connected
from tinygen.kernels.cmsis_nn.pooling import lower_average_pool2d, lower_max_pool2d
from tinygen.kernels.cmsis_nn.softmax import lower_softmax
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.softmax import Softmax

LOWERINGS: Lowerings = {
    Add: lower_add,
    AveragePool2D: lower_average_pool2d,
    Conv2D: lower_conv2d,
    DepthwiseConv2D: lower_depthwise_conv2d,
    FullyConnected: lower_fully_connected,
    MaxPool2D: lower_max_pool2d,
    Softmax: lower_softmax,
}


def select(op: Op, toolbox: Toolbox) -> Kernel:
    """The kernel that runs `op`; KeyError for operators that only move or rename memory."""
    return LOWERINGS[type(op)](op, toolbox)
