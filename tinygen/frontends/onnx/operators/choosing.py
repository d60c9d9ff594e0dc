"""Elements in another order, or some of them, as constants say: gathers along one axis."""

from math import prod
from typing import Final

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import movement, shape
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Value
from tinygen.ir.types import Array
from tinygen.ops.gather import reversed_places

_PRIMITIVES: Final[Readers] = {**movement.READERS, **shape.READERS}
_INDEX_BYTES = 4


def read_gather_elements(node: Node) -> Value:
    """GatherElements: with constant indices, negative ones from the end."""
    sizes, indices = node.shape(0), node.constant(1, "indices")
    axis = node.axis(node.integer("axis", 0), len(sizes))
    used = (*indices.shape[:axis], 0, *indices.shape[axis + 1 :])
    if (
        not np.issubdtype(indices.dtype, np.integer)
        or indices.ndim != len(sizes)
        or any(own > whole for own, whole in zip(used, sizes, strict=True))
    ):
        raise UnsupportedError(f"indices {indices.dtype}{list(indices.shape)} do not fit data of {list(sizes)}")
    chosen = indices.astype(np.int64)
    if not chosen.size or np.any(chosen < -sizes[axis]) or np.any(chosen >= sizes[axis]):
        raise UnsupportedError(f"indices are none, or outside of axis {axis} ({sizes[axis]})")
    _check_budget(node, indices.size * len(sizes))
    coordinates = np.indices(indices.shape)
    coordinates[axis] = chosen % sizes[axis]
    parts = Composition(node, _PRIMITIVES)
    flat = parts.apply("Reshape", parts.input(0), parts.integers(prod(sizes)))
    places = np.asarray(np.ravel_multi_index(tuple(coordinates), sizes), np.int64)
    return parts.last("Gather", flat, parts.constant(places), axis=0)


def read_reverse_sequence(node: Node) -> Value:
    """ReverseSequence: of constant lengths, as many first elements of each sequence as it is long backwards."""
    sizes, lengths = node.shape(0), node.integers(1, "lengths")
    batch_axis, time_axis = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    if sorted((batch_axis, time_axis)) != [0, 1] or len(sizes) < 2:
        raise UnsupportedError(
            f"has batch axis {batch_axis} and time axis {time_axis} of shape {list(sizes)}, 0 and 1 were expected"
        )
    count, steps = sizes[batch_axis], sizes[time_axis]
    if len(lengths) != count or any(not 0 <= length <= steps for length in lengths):
        raise UnsupportedError(f"lengths are {list(lengths[:10])}, {count} numbers from 0 to {steps} were expected")
    _check_budget(node, count * steps)
    places = reversed_places(sizes[:2], batch_axis, time_axis, lengths)
    parts = Composition(node, _PRIMITIVES)
    rows = parts.apply("Reshape", parts.input(0), parts.integers(count * steps, *sizes[2:]))
    return parts.last("Reshape", parts.apply("Gather", rows, _vector(parts, places), axis=0), parts.integers(*sizes))


def read_compress(node: Node) -> Value:
    """Compress: of a constant condition, the slices along an axis, or else elements, for which it is true."""
    condition, sizes = node.constant(1, "condition"), node.shape(0)
    axis = node.axis(node.integer("axis", 0), len(sizes)) if "axis" in node.raw.attributes else None
    size = prod(sizes) if axis is None else sizes[axis]
    chosen = np.flatnonzero(condition) if condition.dtype == np.bool_ and condition.ndim == 1 else np.zeros(0, np.int64)
    if not chosen.size or condition.size > size:
        raise UnsupportedError(
            f"condition is {condition.dtype}{list(condition.shape)} with {chosen.size} true values, a vector of at "
            f"most {size} with one or more was expected"
        )
    parts = Composition(node, _PRIMITIVES)
    data = parts.apply("Reshape", parts.input(0), parts.integers(size)) if axis is None else parts.input(0)
    return parts.last("Gather", data, _vector(parts, chosen), axis=axis or 0)


def _vector(parts: Composition, places: Array) -> str:
    return parts.constant(places.astype(np.int64))


def _check_budget(node: Node, elements: int) -> None:
    """Raise BudgetError for a table of so many places."""
    what = f"{node.builder.file}, the places of {node.raw.kind} '{node.output_name}'"
    TENSOR_BYTES.check(_INDEX_BYTES * elements, what)


READERS: Readers = {
    "Compress": with_stored(read_compress),
    "GatherElements": with_stored(read_gather_elements),
    "ReverseSequence": with_stored(read_reverse_sequence),
}
