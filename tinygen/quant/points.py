"""The places in an operator where precision changes: what the simulator rounds, wraps or saturates, in order."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.add import Add
from tinygen.ops.clamp import fused_clamp
from tinygen.ops.engine_layer import AnalogSums, EngineLayer
from tinygen.ops.float_function import FloatFunction
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.reduction import Mean, Sum
from tinygen.ops.rescale import Rescale
from tinygen.ops.resize import ResizeBilinear
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.unary import Unary
from tinygen.ops.windowed import Convolution
from tinygen.targets.engine import Overflow, Requantization

_ROUNDINGS = {
    Requantization.DOUBLE: "Q31 multiplier and shift, rounded twice",
    Requantization.SINGLE: "multiplier and shift, rounded once",
    Requantization.SHIFT: "shift, rounded once",
}


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
    if op.results[0].type.dtype.is_real:
        return port_points(op.input, is_input=False) if isinstance(op, Dequantize) else ()
    match op:
        case EngineLayer():
            return _engine(op)
        case Quantize():
            return port_points(op.output, is_input=True)
        case Convolution() | FullyConnected() | TransposeConv2D():
            return _accumulation(op)
        case PackSigns():
            return (Point("threshold", f"1 from {op.threshold} on, else -1; minus {op.output.type.zero_point}"),)
        case SignConv2D() | SignFullyConnected():
            return _products_of_signs(op)
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
        case Softmax() if op.input.type.dtype is DType.INT16:
            return (
                Point("difference", "to the largest input, in steps of 10/65535"),
                Point("exponential", "Q15, table of 513 values, interpolated"),
                Point("reciprocal", "Q15, table of 513 values, interpolated, output scale 1/32768"),
            )
        case Softmax():
            return (
                Point("difference", "to the largest input, Q5.26"),
                Point("exponential", "Q0.31 polynomial, sum in Q12.19"),
                Point(
                    "reciprocal",
                    f"Q0.31, three Newton-Raphson steps, output scale 1/{round(1 / op.output.type.scale)}",
                ),
            )
        case ResizeBilinear():
            return (Point("interpolation", "weights of 10 bits, rounded once"),)
        case Rescale():
            return _requantize(op.output)
        case FloatFunction() if op.output.type.dtype is DType.INT16:
            return (Point("interpolation", "table of 256 sigmoids of 16 bits, rounded once"),)
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


def _products_of_signs(op: SignConv2D | SignFullyConnected) -> tuple[Point, ...]:
    quant = op.weights.type.quant
    scales = 0 if quant is None else len(quant.scales)
    bias = () if op.bias is None else (Point("bias", "int32, scale of the products"),)
    return (
        *_offsets(op.input, bits=2),
        Point("weights", f"int1, {scales} scale{'s' * (scales != 1)}"),
        *bias,
        Point("product", "exclusive or, population count"),
        Point("accumulator", "int32"),
        *_requantize(op.output),
    )


def _offsets(*operands: Tensor, bits: int = 9) -> tuple[Point, ...]:
    return tuple(Point("input_offset", f"'{t.name}' - {t.type.zero_point}, {bits} bits") for t in operands)


def _requantize(output: Tensor) -> tuple[Point, ...]:
    return (
        Point("requantize", "Q31 multiplier and shift, rounded twice"),
        Point("output_offset", f"+ {output.type.zero_point}"),
    )


def _engine(op: EngineLayer) -> tuple[Point, ...]:
    """As the datapath of its engine has it."""
    arithmetic, quant = op.arithmetic, op.weights.type.quant
    scales = 0 if quant is None else len(quant.scales)
    overflow = "wraps" if arithmetic.overflow is Overflow.WRAP else "saturates"
    weights = Point("weights", f"{op.weights.type.dtype.name.lower()}, {scales} scale{'s' * (scales != 1)}")
    bias = () if op.bias is None else (Point("bias", f"{op.bias.type.dtype.name.lower()}, scale of the products"),)
    analog = () if op.analog is None else _analog(op.analog)
    return (
        *_offsets(op.input),
        weights,
        *bias,
        *analog,
        Point("accumulator", f"{arithmetic.accumulator_bits} bits, {overflow}"),
        Point("requantize", _ROUNDINGS[arithmetic.rounding]),
        Point("output_offset", f"+ {op.output.type.zero_point}"),
    )


def _analog(analog: AnalogSums) -> tuple[Point, ...]:
    noise = (Point("noise", f"gain {analog.noise_gain}, seed {analog.seed}"),) if analog.noise_gain else ()
    return (
        Point("partial_sum", f"{analog.rows} rows of the crossbar"),
        *noise,
        Point("adc", f"{analog.adc_bits} bits, step {1 << analog.adc_shift}"),
    )


def _clamp(op: Op) -> tuple[Point, ...]:
    clamp = fused_clamp(op)
    if clamp is None or op.results[0].type.dtype.is_real:
        return ()
    return (Point("clamp", f"[{int(clamp.min)}, {int(clamp.max)}]"),)
