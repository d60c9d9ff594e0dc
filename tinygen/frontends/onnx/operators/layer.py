"""Layers on real numbers: of levels that were quantized at run time, and stored weights, they stay layers of int8."""

from collections.abc import Callable
from dataclasses import replace

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.values import Placed
from tinygen.ir.tensor import Tensor
from tinygen.ops.dynamic_layer import Layer, integer_layer

Arrange = Callable[[Placed], Tensor]  # as the layer reads it


def add_layer(node: Node, layer: Layer, operands: tuple[Placed, Placed], arrange: tuple[Arrange, Arrange]) -> None:
    """Append a layer; `operands` are its input and weights as the file has them."""
    input, weights = operands
    levels = node.builder.levels.get(input.tensor)
    stored = node.builder.stored.get(weights.tensor)
    if levels is None or stored is None:
        node.builder.add(layer)
        return
    own = replace(levels, stored=arrange[0](Placed(levels.stored, input.order)))

    def name(role: str) -> str:
        return node.builder.derive(node.output_name, role)

    for op in integer_layer(layer, own, arrange[1](stored), name):
        node.builder.add(op)
