"""Convolutions of a single pixel are products of a matrix with a vector, for which there may be faster kernels."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ops.weighted import Weighted


def products(graph: Graph) -> Graph:
    """The graph with 1x1 convolutions of one pixel as fully connected layers: the same sums, rounded alike."""
    return _with_products(graph, of_windows=False)


def products_of_windows(graph: Graph) -> Graph:
    """The same of convolutions whose filters lie over all of what they read: such products need no scratch, or less.

    Of networks that keep states: they read a few rows in each call, which convolutions copy once more.
    """
    return _with_products(graph, of_windows=True) if graph.states else graph


def _with_products(graph: Graph, of_windows: bool) -> Graph:
    found = {op: product for op in graph.ops if (product := _product(op, of_windows))}
    return replace(graph, ops=tuple(found.get(op, op) for op in graph.ops)) if found else graph


def _product(op: Op, of_windows: bool) -> Op | None:
    return op.as_product(of_windows) if isinstance(op, Weighted) else None
