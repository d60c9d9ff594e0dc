"""Operators on two tensors, element by element."""

from typing import Any, TypeVar

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.add import Add
from tinygen.ops.binary import Binary
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.quotient import Angle, Div, Power
from tinygen.ops.squared_difference import SquaredDifference

_Two = TypeVar("_Two", bound=Binary)


def read_add(node: Node) -> Add:
    """ADD."""
    return _read_limited(node, Add, node.options(tflite.AddOptions).FusedActivationFunction(), sign=1)


def read_sub(node: Node) -> Add:
    """SUB: the second operand counts negative."""
    return _read_limited(node, Add, node.options(tflite.SubOptions).FusedActivationFunction(), sign=-1)


def read_mul(node: Node) -> Mul:
    """MUL."""
    return _read_limited(node, Mul, node.options(tflite.MulOptions).FusedActivationFunction())


def read_div(node: Node) -> Div:
    """DIV."""
    return _read_limited(node, Div, node.options(tflite.DivOptions).FusedActivationFunction())


def read_maximum(node: Node) -> Maximum:
    """MAXIMUM."""
    return _read_two(node, Maximum)


def read_minimum(node: Node) -> Minimum:
    """MINIMUM."""
    return _read_two(node, Minimum)


def read_squared_difference(node: Node) -> SquaredDifference:
    """SQUARED_DIFFERENCE."""
    return _read_two(node, SquaredDifference)


def read_pow(node: Node) -> Power:
    """POW of float32."""
    return _read_two(node, Power)


def read_atan2(node: Node) -> Angle:
    """ATAN2 of float32."""
    return _read_two(node, Angle)


def read_prelu(node: Node) -> Prelu:
    """PRELU."""
    return Prelu(name=node.name, source=node.source, input=node.input(0), alpha=node.input(1), output=node.output())


def _read_limited(node: Node, kind: type[_Two], activation: int, **more: Any) -> _Two:
    return _read_two(node, kind, clamp=fused_clamp(activation, node.output()), **more)


def _read_two(node: Node, kind: type[_Two], **more: Any) -> _Two:
    first, second = node.input(0), node.input(1)
    return kind(name=node.name, source=node.source, first=first, second=second, output=node.output(), **more)


READERS: Readers = {
    "ADD": read_add,
    "ATAN2": read_atan2,
    "DIV": read_div,
    "MAXIMUM": read_maximum,
    "MINIMUM": read_minimum,
    "MUL": read_mul,
    "POW": read_pow,
    "PRELU": read_prelu,
    "SQUARED_DIFFERENCE": read_squared_difference,
    "SUB": read_sub,
}
