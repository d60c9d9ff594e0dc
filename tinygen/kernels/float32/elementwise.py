"""Functions of one and of two float32 tensors, element by element."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.tinygen_c.elementwise import operands
from tinygen.ops.add import Add
from tinygen.ops.arithmetic_unary import Abs, Negate, Square
from tinygen.ops.binary import Binary
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.hard_swish import HardSwish
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.quotient import Angle, Div, Power
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.roots import Rsqrt, Sqrt
from tinygen.ops.squared_difference import SquaredDifference
from tinygen.ops.unary import Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class MapF32(Kernel):
    """tg_map_f32."""

    template: ClassVar[str] = "map_f32"
    header: ClassVar[str] = "tg_functions_f32.h"

    mapped: str  # the function of one number
    parameters: tuple[float, ...]
    size: int

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.mapped,)

    @property
    def priced_as(self) -> str:
        return f"{self.function} {self.mapped}"


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastF32(Kernel):
    """tg_broadcast_f32."""

    template: ClassVar[str] = "broadcast_f32"
    header: ClassVar[str] = "tg_rows_f32.h"

    row_function: str
    broadcast: Broadcast
    bounds: Clamp

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.row_function,)

    @property
    def priced_as(self) -> str:
        return f"{self.function} {self.row_function}"


@dataclass(frozen=True)
class _Mapped:
    """A function in C and its constants."""

    name: str
    parameters: tuple[float, ...] = ()


def lower_unary(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A function of one tensor."""
    assert isinstance(op, Unary)
    mapped = _mapped(op)
    return MapF32(
        function="tg_map_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        mapped=f"tg_{mapped.name}_f32",
        parameters=mapped.parameters or (0.0,),
        size=op.output.type.elements,
    )


def lower_binary(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A function of two tensors that broadcast."""
    assert isinstance(op, Binary | Prelu)
    first, second = (op.input, op.alpha) if isinstance(op, Prelu) else (op.first, op.second)
    return BroadcastF32(
        function="tg_broadcast_f32",
        **operands(op.output, first, second),
        row_function=f"tg_{_row_function(op)}_row_f32",
        broadcast=op.broadcast.padded,
        bounds=op.clamp if isinstance(op, Add | Div | Mul) else UNLIMITED,
    )


def _mapped(op: Unary) -> _Mapped:
    match op:
        case Relu():
            return _Mapped("clamp", (op.clamp.min, op.clamp.max))
        case LeakyRelu():
            return _Mapped("leaky_relu", (op.alpha,))
        case FloatFunction():
            return _FLOAT_FUNCTIONS[op.function]
        case RealFunction():
            return _Mapped(_REAL_FUNCTIONS.get(op.kind, op.kind.value), op.parameters)
    return _Mapped(_PLAIN[type(op)])


def _row_function(op: Binary | Prelu) -> str:
    if isinstance(op, Add):
        return "add" if op.sign > 0 else "subtract"
    return _ROWS[type(op)]


_PLAIN: Mapping[type[Op], str] = {
    Abs: "abs",
    HardSwish: "hard_swish",
    Negate: "negate",
    Rsqrt: "rsqrt",
    Sqrt: "sqrt",
    Square: "square",
}
_FLOAT_FUNCTIONS = {
    Function.ELU: _Mapped("elu", (1.0,)),
    Function.EXP: _Mapped("exp"),
    Function.GELU: _Mapped("gelu"),
    Function.GELU_TANH: _Mapped("gelu_tanh"),
    Function.LOG: _Mapped("log"),
    Function.LOGISTIC: _Mapped("logistic"),
    Function.TANH: _Mapped("tanh"),
}
_REAL_FUNCTIONS = {RealKind.NEGATIVE: "negate"}  # the others bear the kind's name
_ROWS: Mapping[type[Op], str] = {
    Angle: "angle",
    Div: "divide",
    Maximum: "maximum",
    Minimum: "minimum",
    Mul: "multiply",
    Power: "raise",
    Prelu: "prelu",
    SquaredDifference: "squared_difference",
}


LOWERINGS: Lowerings = {
    Abs: lower_unary,
    Add: lower_binary,
    Angle: lower_binary,
    Div: lower_binary,
    FloatFunction: lower_unary,
    HardSwish: lower_unary,
    LeakyRelu: lower_unary,
    Maximum: lower_binary,
    Minimum: lower_binary,
    Mul: lower_binary,
    Negate: lower_unary,
    Power: lower_binary,
    Prelu: lower_binary,
    RealFunction: lower_unary,
    Relu: lower_unary,
    Rsqrt: lower_unary,
    Sqrt: lower_unary,
    Square: lower_unary,
    SquaredDifference: lower_binary,
}
