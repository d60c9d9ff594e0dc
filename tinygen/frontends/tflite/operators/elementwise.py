"""Elementwise operators."""

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.add import Add


def read_add(node: Node) -> Add:
    """ADD."""
    options = node.options(tflite.AddOptions)
    return Add(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=node.input(1),
        output=node.output(),
        clamp=fused_clamp(options.FusedActivationFunction(), node.output()),
    )


READERS: Readers = {"ADD": read_add}
