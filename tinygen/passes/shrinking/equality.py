"""Channels that hold the same values as another channel of their tensor, whatever the inputs of the model are."""

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np

from tinygen.ir.channels import NONE, IndexArray, Link, channel_count
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.accumulate import OutputStage, centered_weights
from tinygen.ops.concat import Concat
from tinygen.ops.weighted import Weighted
from tinygen.passes.shrinking.channels import links
from tinygen.passes.shrinking.product import Product, added_up, product


def equal_channels(graph: Graph) -> Mapping[Tensor, IndexArray]:
    """For each channel of each variable tensor the first one that is equal to it."""
    found: dict[Tensor, IndexArray] = {}

    def first_equal(tensor: Tensor) -> IndexArray:
        return _of_constant(tensor) if tensor.is_constant else found.get(tensor, _all_different(tensor))

    for op in graph.ops:
        keys = _keys(op, first_equal) if len(op.results) == 1 else None
        if keys is not None:
            found[op.results[0]] = _first_of_each(keys)
    return {tensor: first_equal(tensor) for tensor in graph.tensors if not tensor.is_constant}


def _all_different(tensor: Tensor) -> IndexArray:
    return np.arange(channel_count(tensor))


def _of_constant(tensor: Tensor) -> IndexArray:
    assert tensor.data is not None
    return _first_of_each(column.tobytes() for column in tensor.data.reshape(-1, channel_count(tensor)).T)


def _first_of_each(keys: Iterable[Hashable]) -> IndexArray:
    first: dict[Hashable, int] = {}
    return np.array([first.setdefault(key, index) for index, key in enumerate(keys)], np.intp)


def _keys(op: Op, first_equal: Callable[[Tensor], IndexArray]) -> list[Hashable] | None:
    """What decides the values of each channel of the result; None where that is not known."""
    summed = product(op)
    if summed is not None:
        return _product_keys(summed, first_equal(summed.op.input))
    found = links(op)
    if found is None:
        return None
    behind = list(zip(*(_behind(link, first_equal(link.operand), op) for link in found), strict=True))
    return _keys_of_filters(op, behind) if isinstance(op, Weighted) else list(behind)


def _behind(link: Link, first_equal: IndexArray, op: Op) -> list[Hashable]:
    """The channel of an operand behind each channel of the result; in a reshape the turn it comes in too."""
    turns = np.zeros(len(link.channels), np.intp)
    if not isinstance(op, Concat | Weighted) and not link.is_broadcast:
        turns = np.arange(len(link.channels)) // channel_count(link.operand)
    first = np.where(link.channels == NONE, NONE, first_equal[link.channels])
    return list(zip(first.tolist(), turns.tolist(), strict=True))


def _product_keys(summed: Product, first_equal: IndexArray) -> list[Hashable]:
    weights = added_up(summed.weights, first_equal)
    return [(row.tobytes(), stage) for row, stage in zip(weights, _stages(summed.stage, len(weights)), strict=True)]


def _keys_of_filters(op: Weighted, behind: list[tuple[Hashable, ...]]) -> list[Hashable] | None:
    if op.weights.data is None or op.weights.coding is not None or (op.bias is not None and op.bias.data is None):
        return None
    filters = op.by_output(centered_weights(op.weights, op.weights.data))
    parts = zip(behind, filters, _stages(op.output_stage, op.channels), strict=True)
    return [(inputs, filter.tobytes(), stage) for inputs, filter, stage in parts]


def _stages(stage: OutputStage, channels: int) -> list[Hashable]:
    """Bias and requantization of each channel; zero points and clamp are those of the tensor."""
    multiplier, shift = (np.broadcast_to(values, channels).tolist() for values in stage.multipliers)
    return list(zip(stage.biases(channels).tolist(), multiplier, shift, strict=True))
