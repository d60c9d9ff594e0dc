"""Operators on two tensors, element by element."""

from typing import TypeVar

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.add import Add
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.squared_difference import SquaredDifference

_Plain = TypeVar("_Plain", Maximum, Minimum, SquaredDifference)


def read_add(node: Node) -> Add:
    """ADD."""
    return _read_sum(node, node.options(tflite.AddOptions).FusedActivationFunction(), sign=1)


def read_sub(node: Node) -> Add:
    """SUB: the second operand counts negative."""
    return _read_sum(node, node.options(tflite.SubOptions).FusedActivationFunction(), sign=-1)


def read_mul(node: Node) -> Mul:
    """MUL."""
    options = node.options(tflite.MulOptions)
    return Mul(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=node.input(1),
        output=node.output(),
        clamp=fused_clamp(options.FusedActivationFunction(), node.output()),
    )


def read_maximum(node: Node) -> Maximum:
    """MAXIMUM."""
    return _read_plain(node, Maximum)


def read_minimum(node: Node) -> Minimum:
    """MINIMUM."""
    return _read_plain(node, Minimum)


def read_squared_difference(node: Node) -> SquaredDifference:
    """SQUARED_DIFFERENCE."""
    return _read_plain(node, SquaredDifference)


def read_prelu(node: Node) -> Prelu:
    """PRELU."""
    return Prelu(name=node.name, source=node.source, input=node.input(0), alpha=node.input(1), output=node.output())


def _read_sum(node: Node, activation: int, sign: int) -> Add:
    return Add(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=node.input(1),
        output=node.output(),
        clamp=fused_clamp(activation, node.output()),
        sign=sign,
    )


def _read_plain(node: Node, kind: type[_Plain]) -> _Plain:
    return kind(name=node.name, source=node.source, first=node.input(0), second=node.input(1), output=node.output())


READERS: Readers = {
    "ADD": read_add,
    "MAXIMUM": read_maximum,
    "MINIMUM": read_minimum,
    "MUL": read_mul,
    "PRELU": read_prelu,
    "SQUARED_DIFFERENCE": read_squared_difference,
    "SUB": read_sub,
}
