"""Interval analysis: between which stored values each channel lies, whatever the inputs of the model are.

Exact integers all the way: input, accumulator, requantization, clamp. A channel with one value in its interval is
constant.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tinygen.ir.channels import NONE, Intervals, Link, channel_count
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType
from tinygen.passes.shrinking.channels import links
from tinygen.passes.shrinking.product import Product, product

_INT32_END = 1 << 31


def channel_intervals(graph: Graph) -> Mapping[Tensor, Intervals]:
    """Intervals of every variable tensor of integers with at least one element."""
    known: dict[Tensor, Intervals] = {}

    def of(tensor: Tensor) -> Intervals:
        return _of_constant(tensor) if tensor.is_constant else known.get(tensor) or _anything(tensor)

    for op in graph.ops:
        found = _of_result(op, of) if _is_known(op) else None
        if found is not None:
            known[op.results[0]] = found
    variable = (tensor for tensor in graph.tensors if not tensor.is_constant and _has_integers(tensor.type))
    return {tensor: of(tensor) for tensor in variable}


def _has_integers(type: TensorType) -> bool:
    return type.dtype.is_integer and type.elements > 0


def _is_known(op: Op) -> bool:
    """Whether it computes on 8-bit integers only."""
    activations = (*op.variable_operands, *op.results)
    return len(op.results) == 1 and all(t.type.dtype.bytes == 1 and _has_integers(t.type) for t in activations)


def _anything(tensor: Tensor) -> Intervals:
    shape, dtype = channel_count(tensor), tensor.type.dtype
    return Intervals(np.full(shape, dtype.min, np.int64), np.full(shape, dtype.max, np.int64))


def _of_constant(tensor: Tensor) -> Intervals:
    assert tensor.data is not None
    stored = tensor.data.reshape(-1, channel_count(tensor)).astype(np.int64)
    return Intervals(stored.min(axis=0), stored.max(axis=0))


def _of_result(op: Op, of: Callable[[Tensor], Intervals]) -> Intervals | None:
    """The intervals of the only result; None where nothing is known."""
    summed = product(op)
    if summed is not None:
        return _of_product(summed, of(summed.op.input))
    found = links(op)
    if found is None:
        return None
    return op.channel_intervals([_linked(of(link.operand), link) for link in found])


def _linked(operand: Intervals, link: Link) -> Intervals:
    """Of the result's channels as far as they come from the operand; empty where they come from another one."""
    is_behind = link.channels != NONE
    low, high = operand.low[link.channels], operand.high[link.channels]
    return Intervals(np.where(is_behind, low, _INT32_END), np.where(is_behind, high, -_INT32_END))


def _of_product(summed: Product, input: Intervals) -> Intervals:
    zero_point = summed.op.input.type.zero_point
    seen = input.including(zero_point) if summed.op.is_padded else input
    low, high = seen.low - zero_point, seen.high - zero_point
    positive, negative = np.maximum(summed.weights, 0).sum(axis=1), np.minimum(summed.weights, 0).sum(axis=1)
    smallest = positive @ low + negative @ high + summed.bias
    largest = positive @ high + negative @ low + summed.bias
    return summed.stage.stored(Intervals(smallest, largest))
