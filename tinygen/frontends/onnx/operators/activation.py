"""Limits of values, and softmax."""

from collections.abc import Callable
from math import prod

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.function import PROBABILITY, WIDE_UNIT, rescaled, scalar
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Curve, Form, Order, Pending, Placed, Real, is_wide
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.clamp import Activation
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.log_softmax import OUTPUT_QUANT as LOGARITHM
from tinygen.ops.log_softmax import LogSoftmax
from tinygen.ops.quantize import quantize
from tinygen.ops.relu import Relu
from tinygen.ops.softmax import Softmax

Bounds = tuple[float | None, float | None]
UNBOUNDED: Bounds = (None, None)


def read_relu(node: Node) -> Real:
    """Relu."""
    return _limited(node, (0.0, None))


def read_clip(node: Node) -> Real:
    """Clip: constant limits."""
    low, high = _limits(node)
    if low is not None and high is not None and low > high:
        raise UnsupportedError(f"limits are {low} and {high}, the first below the second was expected")
    return _limited(node, (low, high))


def _limits(node: Node) -> Bounds:
    """Inputs since opset 11, attributes before."""
    if node.opset < 11:
        return node.number("min", -_FLOAT_MAX), node.number("max", _FLOAT_MAX)
    low, high = (scalar(node, position, role) if node.has_input(position) else None for position, role in _LIMITS)
    return low, high


def read_softmax(node: Node) -> Real:
    """Softmax: along any axis; as an output without QuantizeLinear it has scale 1/256, of int16 1/32768."""

    def make(name: str, rows: Tensor, result: Tensor) -> Op:
        return Softmax(name=name, source=node.source, input=rows, output=result, beta=1.0)

    return of_rows(node, make, WIDE_UNIT if is_wide(node.activation(0).form) else PROBABILITY)


def read_log_softmax(node: Node) -> Real:
    """LogSoftmax of int8, which its arithmetic gives in steps of 1/16."""

    def make(name: str, rows: Tensor, result: Tensor) -> Op:
        return LogSoftmax(name=name, source=node.source, input=rows, output=result)

    return of_rows(node, make, LOGARITHM, takes_others=False)


def of_rows(node: Node, kind: Callable[[str, Tensor, Tensor], Op], unit: Quant, takes_others: bool = True) -> Real:
    """What an operator computes of each row, given a name, rows and result, whose own quantization is `unit`.

    Rows lie along any axis; before opset 13 they are all axes from one on, which become one. The result is rescaled to
    other quantizations where it `takes_others`.
    """
    input = node.activation(0)
    along = row_axes(node)
    order: Order = (*(axis for axis in range(len(input.shape)) if axis not in along), *along)

    def make(quant: Form, name: str) -> Placed:
        if quant is not None and quant != unit and not takes_others:
            raise UnsupportedError(
                f"has a result of scale {quant.scale:g}, {unit.scale:g} with zero point {unit.zero_point} was "
                "expected: make it an output, without QuantizeLinear behind it"
            )
        builder, what = node.builder, node.raw.operator.lower()
        own = None if quant is None else unit
        if is_wide(quant) and not is_wide(own):
            raise UnsupportedError("has an int8 input and an int16 result, both of 16 bits were expected")
        plain = builder.arranged(input, order)
        rows = plain
        if len(along) > 1:
            kept = plain.shape[: -len(along)]
            shape = (*kept, plain.type.elements // prod(kept))
            rows = builder.reshaped(plain, shape, builder.derive(name, "rows"), node.source)
        result = builder.result(name if (quant, rows) == (own, plain) else builder.derive(name, what), rows.shape, own)
        builder.add(kind(result.name, rows, result))
        if rows is not plain:
            whole = name if quant == own else builder.derive(name, "whole")
            result = builder.reshaped(result, plain.shape, whole, node.source)
        return rescaled(node, Placed(result, order), quant, name)

    return node.pending(input.shape, make, range=unit)


def row_axes(node: Node) -> tuple[int, ...]:
    """The axes that a row has of a softmax: before opset 13 all from one on, without those of size 1, else one."""
    shape, opset = node.shape(0), node.integer("opset", node.opset)  # which QLinearSoftmax names itself
    axis = node.axis(node.integer("axis", -1 if opset >= 13 else 1), len(shape))
    if opset >= 13:
        return (axis,)
    return tuple(other for other in range(axis, len(shape)) if shape[other] != 1) or (axis,)


def _limited(node: Node, bounds: Bounds) -> Real:
    """Values within bounds: a clamp in whatever quantization the result has."""
    input = node.real(0)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:  # noqa: ARG001 - it is the input's
        return limited(node, inputs[0], name, bounds)

    return node.kept((input,), input.shape, make, curve=_curve(input, bounds))


def limited(node: Node, input: Placed, name: str, bounds: Bounds) -> Placed:
    """The numbers of a tensor within bounds, in its own quantization, under a name that is free."""
    tensor = input.tensor
    activation = next((a for a in Activation if a.value == bounds), None)
    if activation is None:
        return Placed(_clamped(node, tensor, name, bounds), input.order)
    output = node.builder.result(name, tensor.shape, input.form)
    return node.emit(
        Relu(name=name, source=node.source, input=tensor, output=output, activation=activation), input.order
    )


def _curve(input: Real, bounds: Bounds) -> Curve | None:
    """The limited function, of what has no quantization of its own."""
    inner = input.curve if isinstance(input, Pending) and input.exact is None else None
    if inner is None or bounds == UNBOUNDED:
        return None
    return Curve(inner.input, lambda real: np.clip(inner.apply(real), *bounds))


def _clamped(node: Node, tensor: Tensor, name: str, bounds: Bounds) -> Tensor:
    """Maximum with the lower bound, then minimum with the upper one, where there are such bounds."""
    steps = [(kind, bound) for kind, bound in zip((Maximum, Minimum), bounds, strict=True) if bound is not None]
    for index, (kind, bound) in enumerate(steps, 1):
        own = name if index == len(steps) else node.builder.derive(name, "raised")
        output = Tensor(own, tensor.type)
        limit = _stored(node, tensor, bound)
        node.builder.add(kind(name=own, source=node.source, first=tensor, second=limit, output=output))
        tensor = output
    return tensor


def _stored(node: Node, tensor: Tensor, bound: float) -> Tensor:
    real = np.full((1,) * max(1, len(tensor.shape)), bound, np.float32)
    stored = real if tensor.type.dtype.is_real else quantize(real, tensor.type)
    return node.builder.constant(node.builder.derive(tensor.name, "bound"), stored, tensor.type.quant)


_LIMITS = ((1, "minimum"), (2, "maximum"))
_FLOAT_MAX = float(np.finfo(np.float32).max)

READERS: Readers = {"Clip": with_stored(read_clip), "Relu": read_relu, "Softmax": read_softmax}
