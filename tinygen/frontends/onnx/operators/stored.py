"""Operators that move, limit or resize elements, on stored integers, as QOperator models have them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.node import Node, Reader, to_signed
from tinygen.frontends.onnx.values import Discrete, Known, Pending, Quantized, Stored, Value, stored_type
from tinygen.ops.quantize import dequantize_constant

_STORED = (np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int16), np.dtype(np.uint16))
_PADDING = 2  # input of Pad


def with_stored(reader: Reader) -> Reader:
    """A reader that takes stored integers too, where `reader` gives results with the quantization of its first input.

    It is shown the real numbers that these stand for, and constants of such integers are numbers of the same scale.
    """

    def read(node: Node) -> Value | tuple[Value, ...]:
        first = node.value(0)
        if not isinstance(first, Stored):
            return reader(node)
        builder = replace(node.builder, is_real=False)  # the same operators and names
        shown = replace(_padded(node), builder=builder)
        found = reader(shown.with_inputs(shown.raw.inputs, dict(_real_values(shown, first))))
        results = found if isinstance(found, tuple) else (found,)
        return tuple(_stored(shown, first, result) for result in results)

    read.__doc__ = reader.__doc__
    return read


def _real_values(node: Node, first: Stored) -> Iterator[tuple[str, Value]]:
    quant = first.placed.quant
    for name in filter(None, node.raw.inputs):
        match value := node.values[name]:
            case Stored():
                yield name, Quantized(value.placed)
            case Known() if value.array.dtype in _STORED:
                yield name, Known(np.asarray(dequantize_constant(to_signed(value.array), quant)))
            case _:
                yield name, value


def _padded(node: Node) -> Node:
    """Pad with the 0 that stands for an absent value: an integer."""
    if node.raw.operator != "Pad" or node.has_input(_PADDING):
        return node
    first = node.value(0)
    assert isinstance(first, Stored)
    name = f"{node.output_name}:padding"
    zero = Known(np.zeros((), stored_type(first)))
    inputs = (*node.raw.inputs[:_PADDING], name, *node.raw.inputs[_PADDING + 1 :])
    return node.with_inputs(inputs, {**node.values, name: zero})


def _stored(node: Node, first: Stored, value: Value) -> Value:
    if isinstance(value, Discrete):
        return value
    if isinstance(value, Known):  # a part without elements
        return Known(value.array.astype(stored_type(first)))
    assert isinstance(value, Quantized | Pending)
    name = value.name if isinstance(value, Pending) else node.output_name
    placed = node.builder.at(value, first.placed.quant, name)
    if placed.tensor.name == name:
        node.builder.layouts[name] = placed.order
    return Stored(placed, first.is_unsigned)
