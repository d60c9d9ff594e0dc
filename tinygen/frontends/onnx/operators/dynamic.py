"""Quantization at run time, where float32 is allowed: integers are float32 numbers, whose sums are exact to 2**24."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.convolution import read_conv
from tinygen.frontends.onnx.operators.matmul import read_matmul
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Order, Placed, Quantized, Real
from tinygen.ir.tensor import Tensor
from tinygen.ops.add import Add
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.quotient import Div
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.reduction import ReduceMax, ReduceMin

_LEVELS = 255.0  # between the smallest and the largest uint8


def read_dynamic_quantize(node: Node) -> tuple[Real, ...]:
    """DynamicQuantizeLinear of float32: uint8 as float32 numbers, their scale and zero point."""
    node.computes_real("quantizes at run time")
    input = node.activation(0)
    build = _Arithmetic(node)
    largest = build.extreme(ReduceMax, input.tensor, "largest")
    smallest = build.extreme(ReduceMin, input.tensor, "smallest")
    scale = build.times(build.difference(largest, smallest, "width"), 1 / _LEVELS, "scale")
    zero_point = build.rounded(build.quotient(build.times(smallest, -1.0, "below"), scale, "origin"), "zero_point")
    levels = build.rounded(build.quotient(input.tensor, scale, "levels"), "rounded")
    stored = build.total(levels, zero_point, Clamp(0.0, _LEVELS), "stored")
    return _value(stored, input.order), _value(scale, ()), _value(zero_point, ())


def read_conv_integer(node: Node) -> Real:
    """ConvInteger of float32: with constant weights and zero points, or those of DynamicQuantizeLinear."""
    node.computes_real("sums integers")
    return read_conv(_without_zero_points(node))


def read_matmul_integer(node: Node) -> Real:
    """MatMulInteger of float32: with constant weights and zero points, or those of DynamicQuantizeLinear."""
    node.computes_real("sums integers")
    return read_matmul(_without_zero_points(node))


def _without_zero_points(node: Node) -> Node:
    """The node on operands that have their zero points taken off."""
    build, names = _Arithmetic(node), []
    values = dict(node.values)
    for position in (0, 1):
        value, name = node.value(position), f"{node.output_name}:operand{position}"
        has_zero_point = node.has_input(position + 2)
        if isinstance(value, Known):
            offset = node.constant(position + 2, "zero point").astype(np.float64) if has_zero_point else np.zeros(())
            if offset.size != 1:
                raise UnsupportedError(f"{offset.size} zero points, one was expected")
            values[name] = Known((value.array.astype(np.float64) - offset.reshape(())).astype(np.float32))
        else:
            placed = node.activation(position)
            tensor = placed.tensor
            if has_zero_point:
                tensor = build.difference(tensor, node.activation(position + 2).tensor, f"centered{position}")
            values[name] = Quantized(Placed(tensor, placed.order))
        names.append(name)
    return node.with_inputs(tuple(names), values)


def _value(tensor: Tensor, order: Order) -> Quantized:
    return Quantized(Placed(tensor, order))


class _Arithmetic:
    """Appends operators on float32 whose results the file does not have."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._builder = node.builder

    def extreme(self, kind: type[ReduceMax | ReduceMin], tensor: Tensor, role: str) -> Tensor:
        """The largest or smallest element, or 0 where that lies beyond it."""
        found = self._result(f"{role}_element", ())
        axes = tuple(range(len(tensor.shape)))
        self._builder.add(kind(name=found.name, source=self._node.source, input=tensor, output=found, axes=axes))
        output, limit = self._result(role, ()), Maximum if kind is ReduceMax else Minimum
        zero = self._number(0.0, role)
        self._builder.add(limit(name=output.name, source=self._node.source, first=found, second=zero, output=output))
        return output

    def times(self, tensor: Tensor, factor: float, role: str) -> Tensor:
        """tensor * factor."""
        output, number = self._result(role, tensor.shape), self._number(factor, role)
        self._builder.add(
            Mul(name=output.name, source=self._node.source, first=tensor, second=number, output=output, clamp=UNLIMITED)
        )
        return output

    def difference(self, first: Tensor, second: Tensor, role: str) -> Tensor:
        """first - second, of which the second one has no axes."""
        return self._sum(first, second, -1, UNLIMITED, role)

    def total(self, first: Tensor, second: Tensor, clamp: Clamp, role: str) -> Tensor:
        """first + second within limits."""
        return self._sum(first, second, 1, clamp, role)

    def quotient(self, first: Tensor, second: Tensor, role: str) -> Tensor:
        """first / second, of which the second one has no axes."""
        output = self._result(role, first.shape)
        self._builder.add(Div(name=output.name, source=self._node.source, first=first, second=second, output=output))
        return output

    def rounded(self, tensor: Tensor, role: str) -> Tensor:
        """The nearest integers, halves to even."""
        output = self._result(role, tensor.shape)
        self._builder.add(
            RealFunction(name=output.name, source=self._node.source, input=tensor, output=output, kind=RealKind.ROUND)
        )
        return output

    def _sum(self, first: Tensor, second: Tensor, sign: int, clamp: Clamp, role: str) -> Tensor:
        output = self._result(role, first.shape)
        self._builder.add(
            Add(
                name=output.name,
                source=self._node.source,
                first=first,
                second=second,
                output=output,
                clamp=clamp,
                sign=sign,
            )
        )
        return output

    def _result(self, role: str, shape: tuple[int, ...]) -> Tensor:
        return self._builder.result(self._builder.derive(self._node.output_name, role), shape, None)

    def _number(self, value: float, role: str) -> Tensor:
        name = self._builder.derive(self._node.output_name, f"{role}_constant")
        return self._builder.constant(name, np.array(value, np.float32))


READERS: Readers = {
    "ConvInteger": read_conv_integer,
    "DynamicQuantizeLinear": read_dynamic_quantize,
    "MatMulInteger": read_matmul_integer,
}
