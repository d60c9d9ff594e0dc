"""How ONNX spells the operators of a graph, float32 or between QuantizeLinear and DequantizeLinear."""

import math
from collections.abc import Mapping
from functools import singledispatch

import numpy as np

from tinygen.exports.onnx_writer import NONE, Attribute, ImageOrder, OnnxWriter, Value
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.add import Add
from tinygen.ops.arithmetic_unary import Abs, Negate, Square
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.binary import Binary
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.crossing import Crossing
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.hard_swish import HardSwish
from tinygen.ops.mul import Mul
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Reduction, Sum
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.reshape import Reshape
from tinygen.ops.roots import Rsqrt, Sqrt
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.squared_difference import SquaredDifference
from tinygen.ops.transpose import Transpose
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.unary import Unary
from tinygen.ops.window import Padding
from tinygen.ops.windowed import Convolution


class NotWrittenError(ValueError):
    """An operator that ONNX files cannot hold, or that is not written yet."""


@singledispatch
def write(op: Op, writer: OnnxWriter) -> None:  # noqa: ARG001 - for the operators that are written
    """Add the nodes of an operator; NotWrittenError."""
    raise NotWrittenError(f"{op.source}: is not written as ONNX")


@write.register
def _convolution(op: Convolution, writer: OnnxWriter) -> None:
    assert op.weights.data is not None
    if isinstance(op, DepthwiseConv2D):
        data, groups = op.weights.data.transpose(3, 0, 1, 2), op.input.shape[3]
    elif isinstance(op, Conv2D):
        data, groups = op.weights.data.transpose(0, 3, 1, 2), op.groups
    else:
        raise NotWrittenError(f"{op.source}: is not written as ONNX")
    attributes: dict[str, Attribute] = {
        "kernel_shape": data.shape[2:],
        "strides": (op.stride.h, op.stride.w),
        "dilations": (op.dilation.h, op.dilation.w),
        "pads": _pads(op.padding),
        "group": groups,
    }
    operands = [writer.value(op.input, ImageOrder.NCHW), *_filters(op.weights, data, op.bias, writer)]
    _clamped("Conv", operands, op.output, op.clamp, writer, ImageOrder.NCHW, attributes)


@write.register
def _transpose_convolution(op: TransposeConv2D, writer: OnnxWriter) -> None:
    assert op.weights.data is not None
    (height, width), (out_height, out_width) = op.input.shape[1:3], op.output.shape[1:3]
    beyond = (
        (height - 1) * op.stride.h + op.kernel.h - op.top - out_height,
        (width - 1) * op.stride.w + op.kernel.w - op.left - out_width,
    )
    attributes: dict[str, Attribute] = {
        "kernel_shape": (op.kernel.h, op.kernel.w),
        "strides": (op.stride.h, op.stride.w),
        "pads": (op.top, op.left, max(beyond[0], 0), max(beyond[1], 0)),
        "output_padding": (max(-beyond[0], 0), max(-beyond[1], 0)),
    }
    data = op.weights.data.transpose(3, 0, 1, 2)
    operands = [writer.value(op.input, ImageOrder.NCHW), *_filters(op.weights, data, op.bias, writer, axis=1)]
    _clamped("ConvTranspose", operands, op.output, op.clamp, writer, ImageOrder.NCHW, attributes)


@write.register
def _fully_connected(op: FullyConnected, writer: OnnxWriter) -> None:
    if op.weights.data is None:
        raise NotWrittenError(f"{op.source}: has weights that are no constant")
    features = op.weights.shape[1]
    value = writer.value(op.input)
    if len(op.input.shape) != 2 or op.input.shape[1] != features:
        value = writer.inner("Reshape", [value, writer.constant(np.array([-1, features], np.int64))])
    operands = [value, *_filters(op.weights, op.weights.data, op.bias, writer)]
    if len(op.output.shape) == 2:
        _clamped("Gemm", operands, op.output, op.clamp, writer, attributes={"transB": 1})
    else:
        product = writer.inner("Gemm", operands, {"transB": 1})
        _clamped("Reshape", [product, writer.target_shape(op.output.shape)], op.output, op.clamp, writer)


@write.register(AveragePool2D)
@write.register(MaxPool2D)
def _pool(op: AveragePool2D | MaxPool2D, writer: OnnxWriter) -> None:
    attributes: dict[str, Attribute] = {
        "kernel_shape": (op.kernel.h, op.kernel.w),
        "strides": (op.stride.h, op.stride.w),
        "pads": _pads(op.padding),
    }
    operator = "AveragePool" if isinstance(op, AveragePool2D) else "MaxPool"
    operands = [writer.value(op.input, ImageOrder.NCHW)]
    _clamped(operator, operands, op.output, op.clamp, writer, ImageOrder.NCHW, attributes)


@write.register
def _binary(op: Binary, writer: OnnxWriter) -> None:
    layout = _common_layout(op, writer)
    operands = [writer.value(op.first, layout), writer.value(op.second, layout)]
    match op:
        case Add():
            _clamped("Add" if op.sign > 0 else "Sub", operands, op.output, op.clamp, writer, layout)
        case Mul():
            _clamped("Mul", operands, op.output, op.clamp, writer, layout)
        case Maximum() | Minimum():
            writer.result("Max" if isinstance(op, Maximum) else "Min", operands, op.output, layout)
        case SquaredDifference():
            difference = writer.inner("Sub", operands)
            writer.result("Mul", [difference, difference], op.output, layout)
        case _:
            raise NotWrittenError(f"{op.source}: is not written as ONNX")


_FUNCTIONS: Mapping[Function, tuple[str, Mapping[str, Attribute]]] = {
    Function.ELU: ("Elu", NONE),
    Function.EXP: ("Exp", NONE),
    Function.GELU: ("Gelu", NONE),
    Function.GELU_TANH: ("Gelu", {"approximate": "tanh"}),
    Function.LOG: ("Log", NONE),
    Function.LOGISTIC: ("Sigmoid", NONE),
    Function.TANH: ("Tanh", NONE),
}
_PLAIN: Mapping[type[Unary], str] = {Abs: "Abs", Negate: "Neg", Sqrt: "Sqrt", HardSwish: "HardSwish"}


@write.register
def _unary(op: Unary, writer: OnnxWriter) -> None:
    layout = writer.layout_of(op.input)
    value = writer.value(op.input, layout)
    match op:
        case Relu():
            low, high = op.activation.value
            if op.activation is Activation.RELU:
                writer.result("Relu", [value], op.output, layout)
            else:
                writer.result("Clip", [value, *_bounds(low, high, writer)], op.output, layout)
        case LeakyRelu():
            writer.result("LeakyRelu", [value], op.output, layout, {"alpha": op.alpha})
        case FloatFunction():
            operator, attributes = _FUNCTIONS[op.function]
            writer.result(operator, [value], op.output, layout, attributes)
        case Square():
            writer.result("Mul", [value, value], op.output, layout)
        case Rsqrt():
            writer.result("Reciprocal", [writer.inner("Sqrt", [value])], op.output, layout)
        case Rescale():
            writer.result("Identity", [value], op.output, layout)
        case _ if type(op) in _PLAIN:
            writer.result(_PLAIN[type(op)], [value], op.output, layout)
        case _:
            raise NotWrittenError(f"{op.source}: is not written as ONNX")


@write.register
def _prelu(op: Prelu, writer: OnnxWriter) -> None:
    writer.result("PRelu", [writer.value(op.input), writer.value(op.alpha)], op.output)


@write.register
def _softmax(op: Softmax, writer: OnnxWriter) -> None:
    value = writer.value(op.input)
    if op.beta != 1:
        value = writer.inner("Mul", [value, writer.constant(np.array(op.beta, np.float32))])
    writer.result("Softmax", [value], op.output, attributes={"axis": -1})


@write.register
def _reshape(op: Reshape, writer: OnnxWriter) -> None:
    writer.result("Reshape", [writer.value(op.input), writer.target_shape(op.output.shape)], op.output)


@write.register
def _copy(op: Copy | Crossing, writer: OnnxWriter) -> None:
    writer.result("Identity", [writer.value(op.input)], op.output)


@write.register
def _transpose(op: Transpose, writer: OnnxWriter) -> None:
    if op.permutation == (0, 3, 1, 2):  # the boundary of a model with NCHW images
        writer.result("Identity", [writer.value(op.input, ImageOrder.NCHW)], op.output)
    else:
        writer.result("Transpose", [writer.value(op.input)], op.output, attributes={"perm": op.permutation})


@write.register
def _pad(op: Pad, writer: OnnxWriter) -> None:
    widths = writer.constant(np.array([*op.before, *op.after], np.int64))
    quant = op.input.type.quant
    value = op.value if quant is None else quant.scale * (op.value - quant.zero_point)
    fill = writer.constant(np.array(value, np.float32))
    writer.result("Pad", [writer.value(op.input), widths, fill], op.output)


@write.register
def _concat(op: Concat, writer: OnnxWriter) -> None:
    is_image = len(op.output.shape) == 4 and not any(t.is_constant for t in op.inputs)
    layout = writer.layout_of(op.inputs[0]) if is_image else ImageOrder.OWN
    axis = (0, 2, 3, 1)[op.axis] if layout is ImageOrder.NCHW else op.axis
    values = [writer.value(tensor, layout) for tensor in op.inputs]
    writer.result("Concat", values, op.output, layout, {"axis": axis})


@write.register
def _slice(op: Slice, writer: OnnxWriter) -> None:
    if min(op.strides) < 0:
        raise NotWrittenError(f"{op.source}: has a negative stride")
    sizes = zip(op.begin, op.output.shape, op.strides, strict=True)
    axes = [axis for axis in range(len(op.begin)) if op.output.shape[axis] != op.input.shape[axis]]
    ends = [begin + (size - 1) * stride + 1 for begin, size, stride in sizes]
    parts = ([op.begin[a] for a in axes], [ends[a] for a in axes], axes, [op.strides[a] for a in axes])
    operands = [writer.constant(np.array(part, np.int64)) for part in parts]
    writer.result("Slice", [writer.value(op.input), *operands], op.output)


@write.register
def _gather(op: Gather, writer: OnnxWriter) -> None:
    if op.batch_dims:
        raise NotWrittenError(f"{op.source}: has batch dimensions")
    writer.result("Gather", [writer.table(op.input), writer.value(op.indices)], op.output, attributes={"axis": op.axis})


@write.register
def _batch_matmul(op: BatchMatMul, writer: OnnxWriter) -> None:
    values = []
    for tensor, is_transposed in ((op.first, op.transpose_first), (op.second, op.transpose_second)):
        rank = len(tensor.shape)
        order = (*range(rank - 2), rank - 1, rank - 2)
        value = writer.value(tensor)
        values.append(writer.inner("Transpose", [value], {"perm": order}) if is_transposed else value)
    writer.result("MatMul", values, op.output)


@write.register
def _reduction(op: Reduction, writer: OnnxWriter) -> None:
    operators: Mapping[type[Reduction], str] = {
        Mean: "ReduceMean", Sum: "ReduceSum", ReduceMax: "ReduceMax", ReduceMin: "ReduceMin"
    }  # fmt: skip
    keeps = len(op.output.shape) == len(op.input.shape)
    operands = [writer.value(op.input), writer.constant(np.array(op.axes, np.int64))]
    writer.result(operators[type(op)], operands, op.output, attributes={"keepdims": int(keeps)})


def _filters(weights: Tensor, data: Array, bias: Tensor | None, writer: OnnxWriter, axis: int = 0) -> list[Value]:
    values = [writer.filters(weights, data, axis)]
    if bias is not None and bias.data is not None:
        values.append(writer.filters(bias, bias.data, 0))
    return values


def _pads(padding: Padding) -> tuple[int, int, int, int]:
    return padding.top, padding.left, padding.bottom, padding.right


def _common_layout(op: Binary, writer: OnnxWriter) -> ImageOrder:
    """NCHW where an image stands in that order and the other operand is an image too, or has one element."""
    operands = (op.first, op.second)
    if not all(len(t.shape) == 4 or (t.is_constant and t.type.elements == 1) for t in operands):
        return ImageOrder.OWN
    variable = [t for t in operands if not t.is_constant]
    return ImageOrder.NCHW if all(writer.layout_of(t) is ImageOrder.NCHW for t in variable) else ImageOrder.OWN


def _bounds(low: float | None, high: float | None, writer: OnnxWriter) -> list[Value]:
    return ["" if b is None or math.isinf(b) else writer.constant(np.array(b, np.float32)) for b in (low, high)]


def _clamped(
    operator: str,
    operands: list[Value],
    output: Tensor,
    clamp: Clamp,
    writer: OnnxWriter,
    layout: ImageOrder = ImageOrder.OWN,
    attributes: Mapping[str, Attribute] = NONE,
) -> None:
    """The node, and behind it the clamp where it limits more than the element type does."""
    low, high = _real_bounds(clamp, output)
    if math.isinf(low) and math.isinf(high):
        writer.result(operator, operands, output, layout, attributes)
        return
    value = writer.inner(operator, operands, attributes)
    if low == 0 and math.isinf(high):
        writer.result("Relu", [value], output, layout)
    else:
        writer.result("Clip", [value, *_bounds(low, high, writer)], output, layout)


def _real_bounds(clamp: Clamp, output: Tensor) -> tuple[float, float]:
    """Infinite where the element type ends there too."""
    quant, dtype = output.type.quant, output.type.dtype
    if quant is None:
        return clamp.min, clamp.max
    low, high = (quant.scale * (bound - quant.zero_point) for bound in (clamp.min, clamp.max))
    return -math.inf if clamp.min <= dtype.min else low, math.inf if clamp.max >= dtype.max else high
