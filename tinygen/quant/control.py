"""The constants of an operator's requantization, for the CTable."""

from tinygen.ir.graph import Op
from tinygen.ops.add import Add
from tinygen.ops.engine_layer import EngineLayer
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.windowed import Convolution
from tinygen.quant.ctable import Control

CLAMPED = (
    Add,
    AveragePool2D,
    Convolution,
    EngineLayer,
    FullyConnected,
    MaxPool2D,
    Mul,
    SignConv2D,
    SignFullyConnected,
    TransposeConv2D,
)
"""Operators that end in a clamp."""


def control_of(op: Op) -> Control | None:
    """What the kernel of a quantized operator is given; None where nothing of it can be chosen."""
    if op.results[0].type.dtype.is_real:
        return None
    match op:
        case Convolution() | EngineLayer() | FullyConnected() | SignConv2D() | SignFullyConnected() | TransposeConv2D():
            multipliers, shifts = op.output_stage.multipliers
            return Control(
                input_offset=-op.input.type.zero_point,
                output_offset=op.output.type.zero_point,
                multiplier=tuple(int(value) for value in multipliers),
                shift=tuple(int(value) for value in shifts),
                act_min=int(op.clamp.min),
                act_max=int(op.clamp.max),
                rounding=op.arithmetic.rounding.value if isinstance(op, EngineLayer) else "double",
            )
        case Add():
            scalings = (op.scales.first, op.scales.second, op.scales.output)
            return Control(
                output_offset=op.output.type.zero_point,
                left_shift=op.left_shift,
                multiplier=tuple(scaling.multiplier for scaling in scalings),
                shift=tuple(scaling.shift for scaling in scalings),
                act_min=int(op.clamp.min),
                act_max=int(op.clamp.max),
            )
        case Mul():
            return Control(
                output_offset=op.output.type.zero_point,
                multiplier=(op.scaling.multiplier,),
                shift=(op.scaling.shift,),
                act_min=int(op.clamp.min),
                act_max=int(op.clamp.max),
            )
        case AveragePool2D() | MaxPool2D():
            return Control(act_min=int(op.clamp.min), act_max=int(op.clamp.max))
    return None
