"""The kernels of operators on int16: one explicit table. Operators that only move bytes have the kernels of int8."""

from tinygen.kernels.base import Lowerings
from tinygen.kernels.int16.convolution import lower_conv2d, lower_depthwise_conv2d, lower_fully_connected
from tinygen.kernels.int16.elementwise import lower_add, lower_mul
from tinygen.kernels.int16.pooling import lower_pool
from tinygen.kernels.int16.reduction import lower_mean
from tinygen.kernels.int16.rescale import lower_rescale
from tinygen.kernels.int16.sigmoid import lower_float_function
from tinygen.kernels.int16.softmax import lower_softmax
from tinygen.ops.add import Add
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.float_function import FloatFunction
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import Mean
from tinygen.ops.relu import Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.softmax import Softmax

INT16_LOWERINGS: Lowerings = {
    Add: lower_add,
    AveragePool2D: lower_pool,
    Conv2D: lower_conv2d,
    DepthwiseConv2D: lower_depthwise_conv2d,
    FloatFunction: lower_float_function,
    FullyConnected: lower_fully_connected,
    MaxPool2D: lower_pool,
    Mean: lower_mean,
    Mul: lower_mul,
    Relu: lower_rescale,
    Rescale: lower_rescale,
    Softmax: lower_softmax,
}
