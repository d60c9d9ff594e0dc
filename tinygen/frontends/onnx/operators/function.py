"""Functions of one tensor, element by element: each becomes a table of 256 entries."""

from collections.abc import Callable

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.curve import curved, function_of, on_reals, unquantized
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import WIDE, Curve, Form, Known, Placed, Quantized, Real, is_wide
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.relu import LeakyRelu
from tinygen.ops.rescale import Rescale
from tinygen.ops.unary import Unary

PROBABILITY = Quant((1 / 256,), (-128,))  # covers [0, 1), 1 saturates
_SYMMETRIC_UNIT = Quant((1 / 128,), (0,))  # covers [-1, 1), 1 saturates
WIDE_UNIT = Quant((1 / 32768,), (0,), bits=WIDE)  # the same of int16
_SELU = (1.67326319217681884765625, 1.05070102214813232421875)  # ONNX's defaults
_PLAIN = {
    "Abs": RealKind.ABS,
    "Acos": RealKind.ACOS,
    "Acosh": RealKind.ACOSH,
    "Asin": RealKind.ASIN,
    "Asinh": RealKind.ASINH,
    "Atan": RealKind.ATAN,
    "Atanh": RealKind.ATANH,
    "Ceil": RealKind.CEIL,
    "Cos": RealKind.COS,
    "Cosh": RealKind.COSH,
    "Erf": RealKind.ERF,
    "Exp": RealKind.EXP,
    "Floor": RealKind.FLOOR,
    "HardSwish": RealKind.HARD_SWISH,
    "Log": RealKind.LOG,
    "Mish": RealKind.MISH,
    "Neg": RealKind.NEGATIVE,
    "Reciprocal": RealKind.RECIPROCAL,
    "Round": RealKind.ROUND,
    "Sign": RealKind.SIGN,
    "Sin": RealKind.SIN,
    "Sinh": RealKind.SINH,
    "Softplus": RealKind.SOFTPLUS,
    "Softsign": RealKind.SOFTSIGN,
    "Sqrt": RealKind.SQRT,
    "Tan": RealKind.TAN,
}


def read_leaky_relu(node: Node) -> Real:
    """LeakyRelu."""
    alpha = node.number("alpha", 0.01)

    def make(input: Tensor, output: Tensor) -> Unary:
        return LeakyRelu(name=output.name, source=node.source, input=input, output=output, alpha=alpha)

    return _unary(node, make)


def read_sigmoid(node: Node) -> Real:
    """Sigmoid: as an output of the model without QuantizeLinear it has scale 1/256."""
    return _float_function(node, Function.LOGISTIC, PROBABILITY)


def read_tanh(node: Node) -> Real:
    """Tanh: as an output of the model without QuantizeLinear it has scale 1/128."""
    return _float_function(node, Function.TANH, _SYMMETRIC_UNIT)


def read_plain(node: Node) -> Real:
    """Functions without parameters."""
    return _real_function(node, _PLAIN[node.raw.operator])


def read_hard_sigmoid(node: Node) -> Real:
    """HardSigmoid."""
    return _real_function(node, RealKind.HARD_SIGMOID, node.number("alpha", 0.2), node.number("beta", 0.5))


def read_elu(node: Node) -> Real:
    """Elu."""
    return _real_function(node, RealKind.ELU, node.number("alpha", 1.0))


def read_selu(node: Node) -> Real:
    """Selu."""
    return _real_function(node, RealKind.SELU, node.number("alpha", _SELU[0]), node.number("gamma", _SELU[1]))


def read_gelu(node: Node) -> Real:
    """Gelu: exact, or approximated with tanh."""
    is_tanh = node.text("approximate", "none") == "tanh"
    return _real_function(node, RealKind.GELU_TANH if is_tanh else RealKind.GELU)


def read_power(node: Node) -> Real:
    """Pow with one constant exponent."""
    return _real_function(node, RealKind.POWER, scalar(node, 1, "exponent"))


def scalar(node: Node, position: int, role: str) -> float:
    """The one real number in a constant input, as it is or through DequantizeLinear."""
    value = node.value(position)
    if isinstance(value, Quantized) and value.placed.tensor.data is not None and value.placed.tensor.data.size == 1:
        type = value.placed.tensor.type
        if type.dtype.is_real:
            return float(value.placed.tensor.data.reshape(-1)[0].item())
        return type.scale * (int(value.placed.tensor.data.reshape(-1)[0]) - type.zero_point)
    array = value.array if isinstance(value, Known) else node.constant(position, role)
    if array.size != 1 or array.dtype == np.bool_ or not np.isfinite(array.astype(np.float64)).all():
        raise UnsupportedError(f"{role} is {array.dtype}{list(array.shape)}, one finite number was expected")
    return float(array.reshape(-1)[0])


def _float_function(node: Node, function: Function, range: Quant) -> Real:
    def make(input: Tensor, output: Tensor) -> Unary:
        return FloatFunction(name=output.name, source=node.source, input=input, output=output, function=function)

    if unquantized(node) is not None:
        return _unary(node, make, range)
    input = node.activation(0)
    if not is_wide(input.form):
        return _unary(node, make, range)

    def of_wide(quant: Form, name: str) -> Placed:
        """In the one scale of the kernels of int16, then in the wanted one."""
        own = name if quant == WIDE_UNIT else node.builder.derive(name, "unit")
        result = node.builder.result(own, input.tensor.shape, WIDE_UNIT)
        return rescaled(node, node.emit(make(input.tensor, result), input.order), quant, name)

    return node.pending(input.shape, of_wide, range=WIDE_UNIT, curve=Curve(input, function_of(on_reals(make))))


def rescaled(node: Node, placed: Placed, quant: Form, name: str) -> Placed:
    """The same values in another quantization, where it is another."""
    if placed.form == quant:
        return placed
    output = node.builder.result(name, placed.tensor.shape, quant)
    return node.emit(Rescale(name=name, source=node.source, input=placed.tensor, output=output), placed.order)


def _real_function(node: Node, kind: RealKind, *parameters: float) -> Real:
    def make(input: Tensor, output: Tensor) -> Unary:
        return RealFunction(
            name=output.name, source=node.source, input=input, output=output, kind=kind, parameters=parameters
        )

    return _unary(node, make)


def _unary(node: Node, kind: Callable[[Tensor, Tensor], Unary], range: Quant | None = None) -> Real:
    op, inner = on_reals(kind), unquantized(node)
    function = function_of(op)
    if inner is not None:
        return curved(node, Curve(inner.input, lambda real: function(inner.apply(real))), range)
    input = node.activation(0)
    curve = None if input.form is None else Curve(input, function)
    if curve is not None and is_wide(input.form) and not op.takes_int16:
        return curved(node, curve, range)

    def make(quant: Form, name: str) -> Placed:
        output = node.builder.result(name, input.tensor.shape, quant)
        return node.emit(kind(input.tensor, output), input.order)

    return node.pending(input.shape, make, range=range, curve=curve)


READERS: Readers = {
    **dict.fromkeys(_PLAIN, read_plain),
    "Elu": read_elu,
    "Gelu": read_gelu,
    "HardSigmoid": read_hard_sigmoid,
    "LeakyRelu": read_leaky_relu,
    "Selu": read_selu,
    "Sigmoid": read_sigmoid,
    "Tanh": read_tanh,
}
