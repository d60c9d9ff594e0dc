"""Convolutions of a single pixel are products of a matrix with a vector, for which there may be faster kernels."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ops.weighted import Weighted


def products(graph: Graph) -> Graph:
    """The graph with 1x1 convolutions of one pixel as fully connected layers: the same sums, rounded alike."""
    return replace(graph, ops=tuple(_product(op) or op for op in graph.ops))


def _product(op: Op) -> Op | None:
    return op.as_product() if isinstance(op, Weighted) else None
