"""Operators on several tensors, element by element, with numpy's broadcasting."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from math import prod
from typing import TypeVar

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.alignment import aligned, broadcast_shape
from tinygen.frontends.onnx.operators.curve import combined, curve_of
from tinygen.frontends.onnx.operators.discrete import with_integers
from tinygen.frontends.onnx.operators.float_constants import operands_of
from tinygen.frontends.onnx.operators.function import read_power
from tinygen.frontends.onnx.operators.per_channel import numbers_of, scaled
from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Form, Known, Order, Placed, Quantized, Real, Value
from tinygen.ir.graph import Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ops.add import Add
from tinygen.ops.broadcast_to import BroadcastTo
from tinygen.ops.clamp import Clamp
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.integer_arithmetic import IntegerFunction
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.quotient import Div, Power

_MAX_ELEMENTS = 1 << 24
_Extremum = TypeVar("_Extremum", Maximum, Minimum)


def read_add(node: Node) -> Real:
    """Add: constants per channel behind a layer become part of it."""
    return _sum(node, 1)


def read_sub(node: Node) -> Real:
    """Sub: constants per channel behind a layer become part of it."""
    return _sum(node, -1)


def read_mul(node: Node) -> Real:
    """Mul: constants per channel behind a layer become part of it."""
    if (layer := scaled(node, multiplies=True)) is not None:
        return layer
    return combined(node, np.multiply) or _product(node)


def _product(node: Node) -> Real:
    operands = operands_of(node)

    def make(quant: Form, name: str) -> Placed:
        operands.check_product(quant)
        first, second, output, order = _aligned(node, operands.placed, quant, name)
        clamp = Clamp.none(output.type)
        op = Mul(name=name, source=node.source, first=first, second=second, output=output, clamp=clamp)
        return node.emit(op, order)

    return node.pending(operands.shape, make, curve=curve_of(node, np.multiply))


def read_max(node: Node) -> Real:
    """Max of any number of tensors."""
    return _extremum(node, Maximum)


def read_min(node: Node) -> Real:
    """Min of any number of tensors."""
    return _extremum(node, Minimum)


def read_prelu(node: Node) -> Real:
    """PRelu: slopes are quantized too."""
    operands = operands_of(node)
    own, slopes = (placed.shape for placed in operands.placed)
    if broadcast_shape(own, slopes) != own:
        raise UnsupportedError(f"slopes {list(slopes)} do not fit an input of {list(own)}")

    def make(quant: Form, name: str) -> Placed:
        operands.check_product(quant)
        input, alpha, output, order = _aligned(node, operands.placed, quant, name)
        return node.emit(Prelu(name=name, source=node.source, input=input, alpha=alpha, output=output), order)

    return node.pending(own, make)


def read_div(node: Node) -> Real:
    """Div: of integers by a constant as a product with what is one over it."""
    if (curve := combined(node, np.divide)) is not None:
        return curve
    divisors = None if node.builder.is_real else numbers_of(node, 1)
    if divisors is None:
        return _binary(node, _quotient)
    if not np.all(divisors):
        raise UnsupportedError("divides by 0, another number was expected")
    with np.errstate(over="ignore"):
        inverse = Known((1.0 / divisors).astype(np.float32))
    name = f"{node.output_name}:inverse"
    return read_mul(node.with_inputs((node.raw.inputs[0], name), {**node.values, name: inverse}))


def _quotient(name: str, source: Source, first: Tensor, second: Tensor, output: Tensor) -> Div:
    clamp = Clamp.none(output.type)
    return Div(name=name, source=source, first=first, second=second, output=output, clamp=clamp)


def _binary(node: Node, kind: Callable[..., Op]) -> Real:
    operands = (node.activation(0), node.activation(1))

    def make(quant: Form, name: str) -> Placed:
        first, second, output, order = _aligned(node, operands, quant, name)
        return node.emit(kind(name=name, source=node.source, first=first, second=second, output=output), order)

    return node.pending(broadcast_shape(operands[0].shape, operands[1].shape), make)


def read_pow(node: Node) -> Real:
    """Pow: with one constant exponent a function of one tensor; of float32 with any exponents."""
    if (curve := combined(node, np.power)) is not None:
        return curve
    exponent = node.value(1)
    is_one = isinstance(exponent, Known) and exponent.array.size == 1
    if not node.builder.is_real or is_one:
        return read_power(node)
    return _binary(node, Power)


def read_expand(node: Node) -> Value:
    """Expand: to a constant shape; integers and truth values too."""
    wanted, own = node.integers(1, "shape"), node.shape(0)
    if len(wanted) > MAX_RANK or any(size < 1 for size in wanted):
        raise UnsupportedError(f"shape is {list(wanted)}, up to {MAX_RANK} sizes above 0 were expected")
    shape = broadcast_shape(own, wanted)
    if prod(shape) > _MAX_ELEMENTS:
        raise UnsupportedError(f"the result has shape {list(shape)}, at most {_MAX_ELEMENTS} elements were expected")

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:  # noqa: ARG001 - the input's
        placed, plain = inputs[0], tuple(range(len(shape)))
        order = placed.order if len(own) == len(shape) else plain
        tensor = placed.tensor if len(own) == len(shape) else node.builder.plain(placed)
        output = Tensor(name, replace(tensor.type, shape=tuple(shape[axis] for axis in order)))
        return node.emit(BroadcastTo(name=name, source=node.source, input=tensor, output=output), order)

    value = node.value(0)
    if isinstance(value, Discrete):
        placed = make((value.placed,), None, node.builder.claim(node.output_name))
        node.builder.layouts[node.output_name] = placed.order
        return Discrete(placed)
    return node.kept((node.real(0),), shape, make)


def sum_of(node: Node, first: Tensor, second: Tensor, output: Tensor, sign: int = 1) -> Add:
    """first + second, or of sign -1 first - second, which the node asks for, perhaps among others."""
    return Add(
        name=output.name,
        source=node.source,
        first=first,
        second=second,
        output=output,
        clamp=Clamp.none(output.type),
        sign=sign,
    )


def _sum(node: Node, sign: int) -> Real:
    if (layer := scaled(node, sign)) is not None:
        return layer
    function = np.add if sign > 0 else np.subtract
    if (curve := combined(node, function)) is not None:
        return curve
    operands = operands_of(node)

    def make(quant: Form, name: str) -> Placed:
        operands.check_sum(quant)
        first, second, output, order = _aligned(node, operands.placed, quant, name)
        return node.emit(sum_of(node, first, second, output, sign), order)

    return node.pending(operands.shape, make, curve=curve_of(node, function))


def _extremum(node: Node, kind: type[_Extremum]) -> Real:
    if (curve := combined(node, np.maximum if kind is Maximum else np.minimum)) is not None:
        return curve
    inputs = tuple(node.real(position) for position in range(node.input_count))
    if len(inputs) == 1:
        return inputs[0]
    for operand, limit in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
        if _limits_nothing(limit, kind) and broadcast_shape(operand.shape, limit.shape) == operand.shape:
            return operand

    def make(placed: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        total = placed[0]
        for number, operand in enumerate(placed[1:], start=2):
            own = name if number == len(placed) else node.builder.derive(name, "partial")
            first, second, output, order = _aligned(node, (total, operand), quant, own)
            total = node.emit(kind(name=own, source=node.source, first=first, second=second, output=output), order)
        return total

    return node.kept(inputs, reduce(broadcast_shape, (value.shape for value in inputs)), make)


def _limits_nothing(limit: Real, kind: type[_Extremum]) -> bool:
    """Whether all numbers are the infinity that a search for the largest or smallest begins with."""
    data = limit.placed.tensor.data if isinstance(limit, Quantized) else None
    return (
        data is not None and data.dtype == np.float32 and bool(np.all(data == (-np.inf if kind is Maximum else np.inf)))
    )


def _aligned(
    node: Node, operands: tuple[Placed, Placed], quant: Form, name: str
) -> tuple[Tensor, Tensor, Tensor, Order]:
    """Both operands and the output with their axes in one order."""
    (first, second), shape, order = aligned(node, operands)
    return first, second, node.builder.result(name, shape, quant), order


READERS: Readers = {
    "Add": with_integers(read_add, IntegerFunction.ADD),
    "Div": with_integers(read_div, IntegerFunction.DIV),
    "Expand": read_expand,
    "Max": with_integers(read_max, IntegerFunction.MAXIMUM),
    "Min": with_integers(read_min, IntegerFunction.MINIMUM),
    "Mul": with_integers(read_mul, IntegerFunction.MUL),
    "PRelu": read_prelu,
    "Pow": read_pow,
    "Sub": with_integers(read_sub, IntegerFunction.SUB),
}
