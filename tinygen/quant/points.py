"""The places in an operator where precision changes: what the simulator rounds, wraps or saturates, in order."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.add import Add
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.reduction import Mean, Sum
from tinygen.ops.rescale import Rescale
from tinygen.ops.resize import ResizeBilinear
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.unary import Unary
from tinygen.ops.windowed import Convolution
from tinygen.quant.control import CLAMPED


@dataclass(frozen=True)
class Point:
    """One change of precision."""

    point: str
    detail: str


def precision_points(op: Op) -> tuple[Point, ...]:
    """The points of a quantized operator, in the order in which a value passes them; empty where values only move."""
    return (*_arithmetic(op), *_clamp(op))


def port_points(tensor: Tensor, is_input: bool) -> tuple[Point, ...]:
    """The conversion of an input or output of the model, where the application has real numbers."""
    quant = tensor.type.quant
    if quant is None:
        return ()
    what = "quantize" if is_input else "dequantize"
    return (Point(what, f"scale {quant.scale:g}, zero point {quant.zero_point}, halves away from zero"),)


def _arithmetic(op: Op) -> tuple[Point, ...]:
    match op:
        case Convolution() | FullyConnected() | TransposeConv2D():
            return _accumulation(op)
        case Add():
            shift = Point("left_shift", f"operands << {op.left_shift}")
            scales = Point("rescale_operands", "each to twice the larger scale, rounded twice")
            return (*_offsets(op.first, op.second), shift, scales, *_requantize(op.output))
        case Mul():
            return (*_offsets(op.first, op.second), Point("product", "int32"), *_requantize(op.output))
        case AveragePool2D():
            return (Point("accumulator", "int32"), Point("division", "by the window, halves away from zero"))
        case Mean() | Sum():
            return (*_offsets(op.input), Point("accumulator", "int32"), *_requantize(op.output))
        case Softmax():
            return (
                Point("difference", "to the largest input, Q5.26"),
                Point("exponential", "Q0.31 polynomial, sum in Q12.19"),
                Point("reciprocal", "Q0.31, three Newton-Raphson steps, output scale 1/256"),
            )
        case ResizeBilinear():
            return (Point("interpolation", "weights of 10 bits, rounded once"),)
        case Rescale():
            return _requantize(op.output)
        case Unary():
            return (Point("table", f"256 entries of {type(op).__name__}, rounded once"),)
    return ()


def _accumulation(op: Convolution | FullyConnected | TransposeConv2D) -> tuple[Point, ...]:
    is_wide = op.output.type.dtype is DType.INT16
    sums, accumulator = ("int64", "int64") if is_wide else ("int32", "int32, wraps")
    quant = op.weights.type.quant
    scales = 0 if quant is None else len(quant.scales)
    points = [
        *_offsets(op.input),
        Point("weights", f"{op.weights.type.dtype.name.lower()}, {scales} scale{'s' * (scales != 1)}"),
    ]
    points += [Point("product", "int16 x int16 in int32"), Point("accumulator", accumulator)]
    if op.bias is not None:
        points.insert(2, Point("bias", f"{sums}, scale of the products"))
    return (*points, *_requantize(op.output))


def _offsets(*operands: Tensor) -> tuple[Point, ...]:
    return tuple(Point("input_offset", f"'{t.name}' - {t.type.zero_point}, 9 bits") for t in operands)


def _requantize(output: Tensor) -> tuple[Point, ...]:
    return (
        Point("requantize", "Q31 multiplier and shift, rounded twice"),
        Point("output_offset", f"+ {output.type.zero_point}"),
    )


def _clamp(op: Op) -> tuple[Point, ...]:
    if isinstance(op, CLAMPED):
        return (Point("clamp", f"[{int(op.clamp.min)}, {int(op.clamp.max)}]"),)
    return ()
