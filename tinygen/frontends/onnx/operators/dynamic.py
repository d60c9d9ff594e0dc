"""Quantization at run time, where float32 is allowed: integers are float32 numbers, whose sums are exact to 2**24."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.convolution import read_conv
from tinygen.frontends.onnx.operators.matmul import read_matmul
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Order, Placed, Quantized, Real
from tinygen.ir.tensor import Tensor
from tinygen.ops.add import Add
from tinygen.ops.clamp import UNLIMITED
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange


def read_dynamic_quantize(node: Node) -> tuple[Real, ...]:
    """DynamicQuantizeLinear of float32: uint8 as float32 numbers, their scale and zero point."""
    node.computes_real("quantizes at run time")
    input = node.activation(0)
    stored = _result(node, 0, input.tensor.shape, input.order)
    scale, zero_point = (_result(node, position, (), ()) for position in (1, 2))
    node.builder.add(DynamicRange(name=scale.name, source=node.source, input=input.tensor, outputs=(scale, zero_point)))
    node.builder.add(
        DynamicQuantize(
            name=stored.name, source=node.source, input=input.tensor, scale=scale, zero_point=zero_point, output=stored
        )
    )
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
    values, names = dict(node.values), []
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
                tensor = _centered(node, tensor, node.activation(position + 2).tensor, f"centered{position}")
            values[name] = Quantized(Placed(tensor, placed.order))
        names.append(name)
    return node.with_inputs(tuple(names), values)


def _value(tensor: Tensor, order: Order) -> Quantized:
    return Quantized(Placed(tensor, order))


def _result(node: Node, position: int, shape: tuple[int, ...], order: Order) -> Tensor:
    """A float32 tensor for an output of the node."""
    builder, names = node.builder, node.raw.outputs
    name = names[position] if position < len(names) else ""
    if not name:
        return builder.result(builder.derive(node.output_name, str(position)), shape, None)
    builder.layouts[name] = order
    return builder.result(builder.claim(name), shape, None)


def _centered(node: Node, tensor: Tensor, zero_point: Tensor, role: str) -> Tensor:
    """The tensor with its zero point, which has no axes, taken off."""
    builder = node.builder
    output = builder.result(builder.derive(node.output_name, role), tensor.shape, None)
    builder.add(
        Add(
            name=output.name,
            source=node.source,
            first=tensor,
            second=zero_point,
            output=output,
            clamp=UNLIMITED,
            sign=-1,
        )
    )
    return output


READERS: Readers = {
    "ConvInteger": read_conv_integer,
    "DynamicQuantizeLinear": read_dynamic_quantize,
    "MatMulInteger": read_matmul_integer,
}
