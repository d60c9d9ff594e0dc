"""Softmax."""

import tflite

from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.softmax import Softmax


def read_softmax(node: Node) -> Softmax:
    """SOFTMAX."""
    options = node.options(tflite.SoftmaxOptions)
    return Softmax(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        beta=float(options.Beta()),
    )


READERS: Readers = {"SOFTMAX": read_softmax}
