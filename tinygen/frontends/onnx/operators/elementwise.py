"""Operators on several tensors, element by element, with numpy's broadcasting."""

from typing import TypeVar

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Order, Pending, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu

_Extremum = TypeVar("_Extremum", Maximum, Minimum)


def read_add(node: Node) -> Pending:
    """Add."""
    return _sum(node, 1)


def read_sub(node: Node) -> Pending:
    """Sub."""
    return _sum(node, -1)


def read_mul(node: Node) -> Pending:
    """Mul."""
    operands = (node.activation(0), node.activation(1))

    def make(quant: Quant, name: str) -> Placed:
        first, second, output, order = _aligned(node, operands, quant, name)
        clamp = Clamp.none(output.type)
        op = Mul(name=name, source=node.source, first=first, second=second, output=output, clamp=clamp)
        return node.emit(op, order)

    return node.pending(_shape(operands[0].shape, operands[1].shape), make)


def read_max(node: Node) -> Pending:
    """Max of two tensors."""
    return _extremum(node, Maximum)


def read_min(node: Node) -> Pending:
    """Min of two tensors."""
    return _extremum(node, Minimum)


def read_prelu(node: Node) -> Pending:
    """PRelu: slopes are quantized too."""
    operands = (node.activation(0), node.activation(1))
    if _shape(operands[0].shape, operands[1].shape) != operands[0].shape:
        raise UnsupportedError(f"slopes {list(operands[1].shape)} do not fit an input of {list(operands[0].shape)}")

    def make(quant: Quant, name: str) -> Placed:
        input, alpha, output, order = _aligned(node, operands, quant, name)
        return node.emit(Prelu(name=name, source=node.source, input=input, alpha=alpha, output=output), order)

    return node.pending(operands[0].shape, make)


def _sum(node: Node, sign: int) -> Pending:
    operands = (node.activation(0), node.activation(1))

    def make(quant: Quant, name: str) -> Placed:
        first, second, output, order = _aligned(node, operands, quant, name)
        clamp = Clamp.none(output.type)
        op = Add(name=name, source=node.source, first=first, second=second, output=output, clamp=clamp, sign=sign)
        return node.emit(op, order)

    return node.pending(_shape(operands[0].shape, operands[1].shape), make)


def _extremum(node: Node, kind: type[_Extremum]) -> Pending:
    if node.input_count != 2:
        raise UnsupportedError(f"has {node.input_count} inputs, 2 were expected")
    inputs = (node.real(0), node.real(1))

    def make(placed: tuple[Placed, ...], quant: Quant, name: str) -> Placed:
        first, second, output, order = _aligned(node, (placed[0], placed[1]), quant, name)
        return node.emit(kind(name=name, source=node.source, first=first, second=second, output=output), order)

    return node.kept(inputs, _shape(inputs[0].shape, inputs[1].shape), make)


def _shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise UnsupportedError(f"shapes {list(first)} and {list(second)} do not broadcast") from None


def _aligned(
    node: Node, operands: tuple[Placed, Placed], quant: Quant, name: str
) -> tuple[Tensor, Tensor, Tensor, Order]:
    """Both operands and the output with their axes in one order, that of a convolution's result where there is one."""
    shape = _shape(operands[0].shape, operands[1].shape)
    plain = tuple(range(len(shape)))
    orders = [p.order for p in operands if len(p.order) == len(shape) and not p.tensor.is_constant]
    order = next((order for order in orders if order != plain), plain)
    first, second = (_expanded(node, placed, order) for placed in operands)
    return first, second, node.builder.int8(name, tuple(shape[axis] for axis in order), quant), order


def _expanded(node: Node, placed: Placed, order: Order) -> Tensor:
    """An operand with as many axes as the result, of size 1 in front, in the given order."""
    missing = len(order) - len(placed.order)
    if missing:
        plain = node.builder.plain(placed)
        name = node.builder.derive(plain.name, "expanded")
        expanded = node.builder.reshaped(plain, (1,) * missing + plain.shape, name, node.source)
        placed = Placed(expanded, tuple(range(len(order))))
    return node.builder.arranged(placed, order)


READERS: Readers = {
    "Add": read_add,
    "Max": read_max,
    "Min": read_min,
    "Mul": read_mul,
    "PRelu": read_prelu,
    "Sub": read_sub,
}
