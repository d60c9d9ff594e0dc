"""Convolutions of a single pixel are products of a matrix with a vector, for which there may be faster kernels."""

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected


def products(graph: Graph) -> Graph:
    """The graph with 1x1 convolutions of one pixel as fully connected layers: the same sums, rounded alike."""
    return replace(graph, ops=tuple(_product(op) if _is_product(op) else op for op in graph.ops))


def _is_product(op: Op) -> TypeGuard[Conv2D]:
    if not isinstance(op, Conv2D) or op.weights.type.dtype is not DType.INT8:
        return False
    return op.input.shape == (1, 1, 1, op.weights.shape[3]) and op.output.shape[1:3] == op.weights.shape[1:3] == (1, 1)


def _product(op: Conv2D) -> FullyConnected:
    shape = op.weights.shape[0], op.weights.shape[3]
    data = np.asarray(op.weights.data).reshape(shape)
    weights = Tensor(f"{op.weights.name}:matrix of {op.name}", replace(op.weights.type, shape=shape), data)
    return FullyConnected(
        name=op.name,
        source=op.source,
        input=op.input,
        weights=weights,
        bias=op.bias,
        output=op.output,
        clamp=op.clamp,
    )
