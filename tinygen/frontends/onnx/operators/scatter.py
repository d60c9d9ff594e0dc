"""Tensors in which some elements are others, at places that are known when the model is compiled."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import elementwise, movement, shape
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Value
from tinygen.ops.requantize import Int64Array

_PRIMITIVES: Final[Readers] = {**elementwise.READERS, **movement.READERS, **shape.READERS}
_NONE = "none"
_REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
_MOST_ROUNDS = 16  # of updates to the same place, each of which is a copy of the tensor


def read_scatter_nd(node: Node) -> Value:
    """ScatterND: with constant indices; of updates to the same place the last one stays."""
    sizes, indices = node.shape(0), _indices(node)
    depth = indices.shape[-1] if indices.ndim else 0
    _check_fit(node, indices, 0 < depth <= len(sizes) and node.shape(2) == (*indices.shape[:-1], *sizes[depth:]))
    return _scattered(node, _places(indices.reshape(-1, depth).T, sizes[:depth]), math.prod(sizes[depth:]))


def read_scatter_elements(node: Node) -> Value:
    """ScatterElements and Scatter: with constant indices; of updates to the same place the last one stays."""
    sizes, indices = node.shape(0), _indices(node)
    axis = node.axis(node.integer("axis", 0), len(sizes))
    _check_fit(node, indices, len(indices.shape) == len(sizes) and node.shape(2) == indices.shape)
    coordinates = np.indices(indices.shape).astype(np.int64)
    coordinates[axis] = indices
    return _scattered(node, _places(coordinates.reshape(len(sizes), -1), sizes), 1)


def _check_fit(node: Node, indices: Int64Array, fits: bool) -> None:
    """Raise UnsupportedError where shapes do not fit or have no elements; BudgetError for too many elements."""
    sizes = node.shape(0)
    if not fits or 0 in sizes:
        raise UnsupportedError(
            f"indices {list(indices.shape)} and updates {list(node.shape(2))} do not fit data of {list(sizes)}"
        )
    TENSOR_BYTES.check(4 * math.prod(sizes), f"{node.builder.file}, the places of {node.raw.kind} '{node.output_name}'")


def _indices(node: Node) -> Int64Array:
    found = node.constant(1, "indices")
    if not np.issubdtype(found.dtype, np.integer) or not found.size:
        raise UnsupportedError(f"indices are {found.dtype}{list(found.shape)}, integers were expected")
    return found.astype(np.int64)


def _places(coordinates: Int64Array, sizes: Sequence[int]) -> Int64Array:
    """The numbers of rows that coordinates [axes, updates] name; negative ones count from the end."""
    ends = np.array(sizes)[:, None]
    if np.any(coordinates < -ends) or np.any(coordinates >= ends):
        raise UnsupportedError(f"indices name places outside of {list(sizes)}")
    places: Int64Array = np.ravel_multi_index(tuple(coordinates % ends), tuple(sizes)).astype(np.int64)
    return places


def _scattered(node: Node, places: Int64Array, elements: int) -> Value:
    """The data as rows of so many elements, of which those at `places` are joined with the updates in turn.

    Each round copies the rows: from the data before it, or from what comes to their places in it.
    """
    reduction = node.text("reduction", _NONE)
    if reduction not in (_NONE, *_REDUCTIONS):
        raise UnsupportedError(f"reduction is '{reduction}', one of {', '.join((_NONE, *_REDUCTIONS))} was expected")
    rounds = [_last(places)] if reduction == _NONE else _rounds(places)
    parts, sizes = Composition(node, _PRIMITIVES), node.shape(0)
    count = math.prod(sizes) // elements
    rows = parts.apply("Reshape", parts.input(0), parts.integers(count, elements))
    updates = parts.apply("Reshape", parts.input(2), parts.integers(len(places), elements))
    for chosen in rounds:
        are_all = len(chosen) == len(places)  # in their order
        new = updates if are_all else parts.apply("Gather", updates, parts.integers(*chosen.tolist()), axis=0)
        if reduction != _NONE:
            old = parts.apply("Gather", rows, parts.integers(*places[chosen].tolist()), axis=0)
            new = parts.apply(_REDUCTIONS[reduction], old, new)
        sources = np.arange(count)
        sources[places[chosen]] = count + np.arange(len(chosen))
        rows = parts.apply("Gather", parts.apply("Concat", rows, new, axis=0), parts.constant(sources), axis=0)
    return parts.last("Reshape", rows, parts.integers(*sizes))


def _rounds(places: Int64Array) -> list[Int64Array]:
    """Numbers of updates, those of a round to different places: the first one to each, the second, and so on."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.searchsorted(sorted_places, sorted_places, side="left")
    turns = np.empty(len(places), np.int64)
    turns[order] = np.arange(len(places)) - starts
    count = int(turns.max()) + 1
    if count > _MOST_ROUNDS:
        raise UnsupportedError(f"{count} updates to one place, at most {_MOST_ROUNDS} were expected")
    return [np.flatnonzero(turns == turn) for turn in range(count)]


def _last(places: Int64Array) -> Int64Array:
    """Numbers of the last updates to each place."""
    _, from_end = np.unique(places[::-1], return_index=True)
    return np.sort(len(places) - 1 - from_end)


READERS: Readers = {
    "Scatter": read_scatter_elements,
    "ScatterElements": read_scatter_elements,
    "ScatterND": read_scatter_nd,
}
