"""Operators whose values stand at places that are known: ONE_HOT, REVERSE_SEQUENCE, SCATTER_ND."""

import math
from dataclasses import replace

import numpy as np
import tflite

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.movement import axis_index
from tinygen.ir.graph import Op
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.concat import Concat
from tinygen.ops.gather import Gather, reversed_places
from tinygen.ops.requantize import Int64Array
from tinygen.ops.reshape import Reshape
from tinygen.ops.select import Select


def read_one_hot(node: Node) -> tuple[Op, ...]:
    """ONE_HOT of a constant depth: `on` where the index is the place along the new axis, else `off`.

    Indices below 0, and of the depth and more, are nowhere.
    """
    indices, output = node.input(0), node.output()
    shape, axis = one_hot_shape(node)
    if shape != output.shape:
        raise UnsupportedError(f"the vectors have shape {list(shape)}, the output {list(output.shape)}")
    TENSOR_BYTES.check(output.type.bytes, f"{node.file}, the vectors of ONE_HOT '{node.name}'")
    along = node.typed_intermediate("along", TensorType(indices.type.dtype, (*shape[:axis], 1, *shape[axis + 1 :])))
    ends = [1] * len(shape)
    ends[axis] = shape[axis]
    places = np.arange(shape[axis], dtype=indices.type.dtype.numpy).reshape(ends)
    is_on = node.typed_intermediate("is_on", TensorType(DType.BOOL, shape))
    return (
        Reshape(name=along.name, source=node.source, input=indices, output=along),
        Compare(
            name=is_on.name,
            source=node.source,
            first=along,
            second=replace(
                node.typed_intermediate("places", TensorType(indices.type.dtype, places.shape)), data=places
            ),
            output=is_on,
            comparison=Comparison.EQUAL,
        ),
        Select(
            name=node.name,
            source=node.source,
            condition=is_on,
            first=node.input(2),
            second=node.input(3),
            output=output,
        ),
    )


def one_hot_shape(node: Node) -> tuple[tuple[int, ...], int]:
    """The shape of a ONE_HOT's vectors, and the axis along which they lie."""
    shape, depth = node.input(0).shape, node.integers(1, "depth")
    if len(depth) != 1 or depth[0] < 1:
        raise UnsupportedError(f"depth is {list(depth)}, one number above 0 was expected")
    axis = axis_index(node.options(tflite.OneHotOptions).Axis(), len(shape) + 1)
    return (*shape[:axis], depth[0], *shape[axis:]), axis


def read_scatter_nd(node: Node) -> tuple[Op, ...]:
    """SCATTER_ND of constant indices: what no index names is a row of stored zeros.

    Every row of the output is gathered, from the updates or the zeros behind them.
    """
    indices, updates, output = node.constant(0, "indices"), node.input(1), node.output()
    shape = node.integers(2, "shape")
    if shape != output.shape:
        raise UnsupportedError(f"scatters to shape {list(shape)}, the output has shape {list(output.shape)}")
    TENSOR_BYTES.check(4 * math.prod(shape), f"{node.file}, the places of SCATTER_ND '{node.name}'")
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= len(shape) or updates.shape != (*indices.shape[:-1], *shape[depth:]):
        raise UnsupportedError(
            f"indices {list(indices.shape)} and updates {list(updates.shape)} do not fit a shape of {list(shape)}"
        )
    count, elements = math.prod(indices.shape[:-1]), math.prod(shape[depth:])
    sources = _sources(indices.reshape(count, depth).astype(np.int64), shape[:depth])
    rows = node.intermediate(updates, "rows", (count, elements))
    behind = node.intermediate(updates, "behind", (count + 1, elements))
    gathered = node.intermediate(output, "gathered", (sources.size, elements))
    zeros = np.full((1, elements), -128 if node.is_unsigned else 0, updates.type.dtype.numpy)
    ends = replace(node.intermediate(updates, "zeros", zeros.shape), data=zeros)
    return (
        Reshape(name=rows.name, source=node.source, input=updates, output=rows),
        Concat(name=behind.name, source=node.source, inputs=(rows, ends), output=behind, axis=0),
        Gather(
            name=gathered.name,
            source=node.source,
            input=behind,
            indices=replace(node.typed_intermediate("sources", TensorType(DType.INT32, sources.shape)), data=sources),
            output=gathered,
            axis=0,
            batch_dims=0,
        ),
        Reshape(name=node.name, source=node.source, input=gathered, output=output),
    )


def read_reverse_sequence(node: Node) -> tuple[Op, ...]:
    """REVERSE_SEQUENCE of constant lengths: as many first elements of each sequence as it is long backwards."""
    input, output, lengths = node.input(0), node.output(), node.integers(1, "lengths")
    options, rank = node.options(tflite.ReverseSequenceOptions), len(input.shape)
    along, batch = (axis_index(axis, rank) for axis in (options.SeqDim(), options.BatchDim()))
    if along == batch:
        raise UnsupportedError(f"axis {along} is that of sequences and that of batches, different ones were expected")
    count, steps = input.shape[batch], input.shape[along]
    if len(lengths) != count or any(not 0 <= length <= steps for length in lengths):
        raise UnsupportedError(f"lengths are {list(lengths[:10])}, {count} numbers from 0 to {steps} were expected")
    leading = input.shape[: max(along, batch) + 1]
    rows = math.prod(leading)
    TENSOR_BYTES.check(4 * rows, f"{node.file}, the places of REVERSE_SEQUENCE '{node.name}'")
    places = reversed_places(leading, batch, along, lengths)
    flat = node.intermediate(input, "flat", (rows, *input.shape[len(leading) :]))
    turned = node.intermediate(output, "turned", flat.shape)
    indices = node.typed_intermediate("sources", TensorType(DType.INT32, (rows,)))
    return (
        Reshape(name=flat.name, source=node.source, input=input, output=flat),
        Gather(
            name=turned.name,
            source=node.source,
            input=flat,
            indices=replace(indices, data=places),
            output=turned,
            axis=0,
            batch_dims=0,
        ),
        Reshape(name=node.name, source=node.source, input=turned, output=output),
    )


def _sources(indices: Int64Array, sizes: tuple[int, ...]) -> Array:
    """For each row of the output the number of the update that it is, or of the zeros behind all of them."""
    if np.any(indices < 0) or np.any(indices >= np.array(sizes)):
        outside = next(row for row in indices.tolist() if any(not 0 <= i < n for i, n in zip(row, sizes, strict=True)))
        raise UnsupportedError(f"index {outside} is outside of {list(sizes)}")
    places = np.ravel_multi_index(tuple(indices.T), sizes)
    if len(np.unique(places)) < len(places):
        raise UnsupportedError("an index occurs twice, whose updates would be added; different ones were expected")
    sources = np.full(math.prod(sizes), len(places), np.int32)
    sources[places] = np.arange(len(places))
    return sources


READERS: Readers = {
    "ONE_HOT": read_one_hot,
    "REVERSE_SEQUENCE": read_reverse_sequence,
    "SCATTER_ND": read_scatter_nd,
}
