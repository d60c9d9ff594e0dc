"""Products of two matrices."""

import tflite

from tinygen.frontends.tflite.node import Node, Readers
from tinygen.ops.batch_matmul import BatchMatMul


def read_batch_matmul(node: Node) -> BatchMatMul:
    """BATCH_MATMUL; either side may be a constant."""
    options = node.options(tflite.BatchMatMulOptions)
    return BatchMatMul(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=node.input(1),
        output=node.output(),
        transpose_first=bool(options.AdjX()),
        transpose_second=bool(options.AdjY()),
    )


READERS: Readers = {"BATCH_MATMUL": read_batch_matmul}
