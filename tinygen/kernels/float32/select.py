"""The kernels of operators on float32: one explicit table. Operators that only move bytes have the kernels of int8."""

from tinygen.kernels.base import Lowerings
from tinygen.kernels.float32.dynamic_quantize import lower_dynamic_quantize, lower_dynamic_range
from tinygen.kernels.float32.elementwise import lower_binary, lower_unary
from tinygen.kernels.float32.matmul import lower_batch_matmul
from tinygen.kernels.float32.movement import lower_conversion, lower_pad, lower_resize_linear
from tinygen.kernels.float32.reduction import lower_arg_max, lower_extreme, lower_softmax, lower_sum
from tinygen.kernels.float32.window import (
    lower_convolution,
    lower_fully_connected,
    lower_pool,
    lower_transpose_conv2d,
)
from tinygen.ops.add import Add
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.arithmetic_unary import Abs, Negate, Square
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.hard_swish import HardSwish
from tinygen.ops.interpolate import Interpolate
from tinygen.ops.mul import Mul
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.quotient import Div, Power
from tinygen.ops.real_function import RealFunction
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.roots import Rsqrt, Sqrt
from tinygen.ops.softmax import Softmax
from tinygen.ops.squared_difference import SquaredDifference
from tinygen.ops.transpose_conv2d import TransposeConv2D

FLOAT_LOWERINGS: Lowerings = {
    Abs: lower_unary,
    Add: lower_binary,
    ArgMax: lower_arg_max,
    AveragePool2D: lower_pool,
    BatchMatMul: lower_batch_matmul,
    Conv2D: lower_convolution,
    DepthwiseConv2D: lower_convolution,
    Dequantize: lower_conversion,
    Div: lower_binary,
    DynamicQuantize: lower_dynamic_quantize,
    DynamicRange: lower_dynamic_range,
    FloatFunction: lower_unary,
    FullyConnected: lower_fully_connected,
    HardSwish: lower_unary,
    Interpolate: lower_resize_linear,
    LeakyRelu: lower_unary,
    MaxPool2D: lower_pool,
    Maximum: lower_binary,
    Mean: lower_sum,
    Minimum: lower_binary,
    Mul: lower_binary,
    Negate: lower_unary,
    Pad: lower_pad,
    Power: lower_binary,
    Prelu: lower_binary,
    Quantize: lower_conversion,
    RealFunction: lower_unary,
    ReduceMax: lower_extreme,
    ReduceMin: lower_extreme,
    Relu: lower_unary,
    Rsqrt: lower_unary,
    Softmax: lower_softmax,
    Sqrt: lower_unary,
    Square: lower_unary,
    SquaredDifference: lower_binary,
    Sum: lower_sum,
    TransposeConv2D: lower_transpose_conv2d,
}
