"""An int8 graph as a TFLite model, whose inputs and outputs are int8."""

from functools import singledispatch

import numpy as np
import tflite

from tinygen.errors import UnsupportedModelError
from tinygen.exports.tflite_writer import Option, TfliteWriter
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant, TensorType
from tinygen.ops.add import Add
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.hard_swish import HardSwish
from tinygen.ops.mul import Mul
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import Mean
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.reshape import Reshape
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding, PaddingMode, padding_for
from tinygen.ops.windowed import Windowed

_ACTIVATIONS = {
    Activation.NONE: tflite.ActivationFunctionType.NONE,
    Activation.RELU: tflite.ActivationFunctionType.RELU,
    Activation.RELU6: tflite.ActivationFunctionType.RELU6,
    Activation.RELU_N1_TO_1: tflite.ActivationFunctionType.RELU_N1_TO_1,
}
_RECTIFIERS = {
    Activation.RELU: "RELU",
    Activation.RELU6: "RELU6",
    Activation.RELU_0_TO_1: "RELU_0_TO_1",
    Activation.RELU_N1_TO_1: "RELU_N1_TO_1",
}


class _NotWrittenError(ValueError):
    pass


def export_tflite(graph: Graph) -> bytes:
    """The file's content; UnsupportedModelError where TFLite cannot say what an operator does."""
    writer = TfliteWriter()
    inputs = [writer.index(port.tensor) for port in graph.inputs]
    for op in graph.ops:
        try:
            _write(op, writer)
        except _NotWrittenError as error:
            raise UnsupportedModelError(f"{op.source}: {error}. Write the model as .onnx instead.") from None
    return writer.finish(inputs, [writer.index(port.tensor) for port in graph.outputs])


@singledispatch
def _write(op: Op, writer: TfliteWriter) -> None:  # noqa: ARG001 - for the operators that are written
    raise _NotWrittenError(f"{type(op).__name__} is not written as TFLite, an operator of the list was expected")


@_write.register(Conv2D)
@_write.register(DepthwiseConv2D)
def _convolution(op: Conv2D | DepthwiseConv2D, writer: TfliteWriter) -> None:
    if isinstance(op, Conv2D) and op.groups != 1 and op.bias is None:
        raise _NotWrittenError("has groups, but no bias, one was expected")
    kernel = HW(*op.weights.shape[1:3])
    input, mode = _padded(op, kernel, op.dilation, writer)
    options: dict[str, Option] = {
        "Padding": mode,
        "StrideH": op.stride.h,
        "StrideW": op.stride.w,
        "DilationHFactor": op.dilation.h,
        "DilationWFactor": op.dilation.w,
        "FusedActivationFunction": _activation(op.clamp, op.output),
    }
    is_depthwise = isinstance(op, DepthwiseConv2D)
    if isinstance(op, DepthwiseConv2D):
        options["DepthMultiplier"] = op.multiplier
    name = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
    operands = [input, writer.index(op.weights), *_optional(op.bias, writer)]
    kind = "DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions"
    writer.operator(name, 3, operands, [writer.index(op.output)], kind, options)


@_write.register
def _fully_connected(op: FullyConnected, writer: TfliteWriter) -> None:
    keeps = len(op.output.shape) != 2
    options: dict[str, Option] = {
        "FusedActivationFunction": _activation(op.clamp, op.output),
        "KeepNumDims": keeps,
    }
    operands = [writer.index(op.input), writer.index(op.weights), *_optional(op.bias, writer)]
    version = 12 if op.weights.type.quant is not None and not op.weights.type.quant.is_per_tensor else 4
    writer.operator("FULLY_CONNECTED", version, operands, [writer.index(op.output)], "FullyConnectedOptions", options)


@_write.register(AveragePool2D)
@_write.register(MaxPool2D)
def _pool(op: AveragePool2D | MaxPool2D, writer: TfliteWriter) -> None:
    mode = _mode(op, op.kernel, UNIT)
    if mode is None:
        raise _NotWrittenError(f"has the padding {op.padding}, SAME or none was expected")
    options: dict[str, Option] = {
        "Padding": mode,
        "StrideH": op.stride.h,
        "StrideW": op.stride.w,
        "FilterHeight": op.kernel.h,
        "FilterWidth": op.kernel.w,
        "FusedActivationFunction": _activation(op.clamp, op.output),
    }
    name = "AVERAGE_POOL_2D" if isinstance(op, AveragePool2D) else "MAX_POOL_2D"
    writer.operator(name, 2, [writer.index(op.input)], [writer.index(op.output)], "Pool2DOptions", options)


@_write.register(Add)
@_write.register(Mul)
def _arithmetic(op: Add | Mul, writer: TfliteWriter) -> None:
    name = "MUL" if isinstance(op, Mul) else "ADD" if op.sign > 0 else "SUB"
    kind = f"{name.capitalize()}Options"
    options: dict[str, Option] = {"FusedActivationFunction": _activation(op.clamp, op.output)}
    operands = [writer.index(op.first), writer.index(op.second)]
    writer.operator(name, 2, operands, [writer.index(op.output)], kind, options)


@_write.register(Maximum)
@_write.register(Minimum)
def _extremum(op: Maximum | Minimum, writer: TfliteWriter) -> None:
    name = "MAXIMUM" if isinstance(op, Maximum) else "MINIMUM"
    operands = [writer.index(op.first), writer.index(op.second)]
    writer.operator(name, 2, operands, [writer.index(op.output)], "MaximumMinimumOptions")


@_write.register
def _softmax(op: Softmax, writer: TfliteWriter) -> None:
    operands, results = [writer.index(op.input)], [writer.index(op.output)]
    writer.operator("SOFTMAX", 2, operands, results, "SoftmaxOptions", {"Beta": op.beta})


@_write.register
def _reshape(op: Reshape, writer: TfliteWriter) -> None:
    shape = writer.constant(f"{op.name}:shape", np.array(op.output.shape))
    writer.operator("RESHAPE", 1, [writer.index(op.input), shape], [writer.index(op.output)], "ReshapeOptions")


@_write.register
def _transpose(op: Transpose, writer: TfliteWriter) -> None:
    order = writer.constant(f"{op.name}:permutation", np.array(op.permutation))
    writer.operator("TRANSPOSE", 2, [writer.index(op.input), order], [writer.index(op.output)], "TransposeOptions")


@_write.register
def _concat(op: Concat, writer: TfliteWriter) -> None:
    operands = [writer.index(tensor) for tensor in op.inputs]
    options: dict[str, Option] = {"Axis": op.axis}
    writer.operator("CONCATENATION", 2, operands, [writer.index(op.output)], "ConcatenationOptions", options)


@_write.register
def _pad(op: Pad, writer: TfliteWriter) -> None:
    if op.value != op.input.type.zero_point:
        raise _NotWrittenError(f"pads with {op.value}, the zero point {op.input.type.zero_point} was expected")
    widths = writer.constant(f"{op.name}:widths", np.stack([op.before, op.after], axis=1))
    writer.operator("PAD", 2, [writer.index(op.input), widths], [writer.index(op.output)], "PadOptions")


@_write.register
def _mean(op: Mean, writer: TfliteWriter) -> None:
    axes = writer.constant(f"{op.name}:axes", np.array(op.axes))
    options: dict[str, Option] = {"KeepDims": len(op.output.shape) == len(op.input.shape)}
    writer.operator("MEAN", 2, [writer.index(op.input), axes], [writer.index(op.output)], "ReducerOptions", options)


@_write.register(FloatFunction)
@_write.register(HardSwish)
@_write.register(LeakyRelu)
@_write.register(Relu)
@_write.register(Rescale)
def _unary(op: FloatFunction | HardSwish | LeakyRelu | Relu | Rescale, writer: TfliteWriter) -> None:
    operands, results = [writer.index(op.input)], [writer.index(op.output)]
    match op:
        case FloatFunction(function=Function.LOGISTIC):
            writer.operator("LOGISTIC", 2, operands, results)
        case FloatFunction(function=Function.TANH):
            writer.operator("TANH", 2, operands, results)
        case HardSwish():
            writer.operator("HARD_SWISH", 1, operands, results, "HardSwishOptions")
        case LeakyRelu():
            writer.operator("LEAKY_RELU", 2, operands, results, "LeakyReluOptions", {"Alpha": op.alpha})
        case Relu() if op.activation in _RECTIFIERS:
            writer.operator(_RECTIFIERS[op.activation], 2, operands, results)
        case Rescale():
            writer.operator("QUANTIZE", 2, operands, results, "QuantizeOptions")
        case _:
            raise _NotWrittenError("is not written as TFLite, a sigmoid, tanh, hard swish or rectifier was expected")


def _optional(bias: Tensor | None, writer: TfliteWriter) -> list[int]:
    return [] if bias is None else [writer.index(bias)]


def _activation(clamp: Clamp, output: Tensor) -> int:
    """The fused activation whose range the clamp is."""
    for activation, code in _ACTIVATIONS.items():
        if Clamp.of(activation, output.type) == clamp:
            number: int = code
            return number
    raise _NotWrittenError(f"is clamped to [{clamp.min}, {clamp.max}], which no activation of TFLite does")


def _mode(op: Windowed, kernel: HW, dilation: HW) -> int | None:
    """TFLite's padding mode; None where it has none that pads so."""
    if op.padding == NO_PADDING:
        valid: int = tflite.Padding.VALID
        return valid
    size = HW(*op.input.shape[1:3])
    same: int = tflite.Padding.SAME
    return same if op.padding == padding_for(PaddingMode.SAME, size, kernel, op.stride, dilation) else None


def _padded(op: Windowed, kernel: HW, dilation: HW, writer: TfliteWriter) -> tuple[int, int]:
    """The input, behind a PAD of its own where TFLite has no such padding, and the mode."""
    mode = _mode(op, kernel, dilation)
    if mode is not None:
        return writer.index(op.input), mode
    padded, pad = _grown(op.input, op.padding), op.padding
    widths = np.array([[0, 0], [pad.top, pad.bottom], [pad.left, pad.right], [0, 0]])
    index = writer.add_tensor(f"{op.name}:padded", padded.shape, padded.dtype, padded.quant)
    operands = [writer.index(op.input), writer.constant(f"{op.name}:widths", widths)]
    writer.operator("PAD", 2, operands, [index], "PadOptions")
    valid: int = tflite.Padding.VALID
    return index, valid


def _grown(input: Tensor, padding: Padding) -> TensorType:
    batch, height, width, channels = input.shape
    shape = (batch, height + padding.top + padding.bottom, width + padding.left + padding.right, channels)
    quant: Quant | None = input.type.quant
    return TensorType(input.type.dtype, shape, quant)
