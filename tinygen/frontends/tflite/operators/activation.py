"""Operators on one tensor, element by element, and quantization."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import tflite

from tinygen.frontends.tflite.node import Node, Readers
from tinygen.frontends.tflite.tabled import with_table
from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.ops.arithmetic_unary import Abs, Negate, Square
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.hard_swish import HardSwish
from tinygen.ops.mul import Mul
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.roots import Rsqrt, Sqrt

_Plain = TypeVar("_Plain", Abs, Dequantize, HardSwish, Negate, Quantize, Rescale, Rsqrt, Sqrt, Square)


def read_relu(node: Node, activation: Activation) -> Relu:
    """RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1."""
    return Relu(name=node.name, source=node.source, input=node.input(0), output=node.output(), activation=activation)


def read_leaky_relu(node: Node) -> LeakyRelu:
    """LEAKY_RELU."""
    alpha = float(node.options(tflite.LeakyReluOptions).Alpha())
    return LeakyRelu(name=node.name, source=node.source, input=node.input(0), output=node.output(), alpha=alpha)


def read_gelu(node: Node) -> FloatFunction:
    """GELU, exact or by its tanh approximation."""
    approximate = node.options(tflite.GeluOptions).Approximate()
    return read_function(node, Function.GELU_TANH if approximate else Function.GELU)


def read_function(node: Node, function: Function) -> FloatFunction:
    """A function that TFLite computes in float."""
    return FloatFunction(
        name=node.name, source=node.source, input=node.input(0), output=node.output(), function=function
    )


def read_real(node: Node, kind: RealKind) -> RealFunction:
    """CEIL, COS, FLOOR, ROUND, SIGN and SIN: exact up to one rounding."""
    return RealFunction(name=node.name, source=node.source, input=node.input(0), output=node.output(), kind=kind)


def read_square(node: Node) -> Op:
    """SQUARE: of int16 the product of a tensor with itself."""
    x, output = node.input(0), node.output()
    if x.type.dtype is not DType.INT16:
        return _read_plain(node, Square)
    return Mul(name=node.name, source=node.source, first=x, second=x, output=output, clamp=Clamp.none(output.type))


def read_quantize(node: Node) -> Op:
    """QUANTIZE: from float32, or from one 8-bit quantization to another."""
    is_real = node.input(0).type.dtype is DType.FLOAT32
    return _read_plain(node, Quantize) if is_real else _read_plain(node, Rescale)


def _plain(kind: type[_Plain]) -> Callable[[Node], Op]:
    return partial(_read_plain, kind=kind)


def _read_plain(node: Node, kind: type[_Plain]) -> _Plain:
    return kind(name=node.name, source=node.source, input=node.input(0), output=node.output())


READERS: Readers = {
    "ABS": _plain(Abs),
    "CEIL": partial(read_real, kind=RealKind.CEIL),
    "COS": with_table(partial(read_real, kind=RealKind.COS)),
    "DEQUANTIZE": _plain(Dequantize),
    "ELU": with_table(partial(read_function, function=Function.ELU)),
    "EXP": with_table(partial(read_function, function=Function.EXP)),
    "FLOOR": partial(read_real, kind=RealKind.FLOOR),
    "GELU": with_table(read_gelu),
    "HARD_SWISH": with_table(partial(_read_plain, kind=HardSwish)),
    "LEAKY_RELU": read_leaky_relu,
    "LOG": with_table(partial(read_function, function=Function.LOG)),
    "LOGISTIC": partial(read_function, function=Function.LOGISTIC),
    "NEG": _plain(Negate),
    "QUANTIZE": read_quantize,
    "RELU": partial(read_relu, activation=Activation.RELU),
    "RELU6": partial(read_relu, activation=Activation.RELU6),
    "RELU_0_TO_1": partial(read_relu, activation=Activation.RELU_0_TO_1),
    "RELU_N1_TO_1": partial(read_relu, activation=Activation.RELU_N1_TO_1),
    "ROUND": partial(read_real, kind=RealKind.ROUND),
    "RSQRT": _plain(Rsqrt),
    "SIGN": partial(read_real, kind=RealKind.SIGN),
    "SIN": with_table(partial(read_real, kind=RealKind.SIN)),
    "SQRT": _plain(Sqrt),
    "SQUARE": read_square,
    "TANH": partial(read_function, function=Function.TANH),
}
