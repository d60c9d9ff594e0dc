"""Operators that change shapes."""

from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.reshape import Reshape


def read_reshape(node: Node) -> Reshape:
    """RESHAPE, SQUEEZE and EXPAND_DIMS: the output's shape says it all."""
    return Reshape(name=node.name, source=node.source, input=node.input(0), output=node.output())


READERS: Readers = {"EXPAND_DIMS": read_reshape, "RESHAPE": read_reshape, "SQUEEZE": read_reshape}
