"""Integers as vectors with a one at the place that they name, and the rows of a table that such vectors choose."""

from dataclasses import dataclass
from math import prod

import numpy as np

from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import discrete, elementwise, shape
from tinygen.frontends.onnx.operators.activation import row_axes
from tinygen.frontends.onnx.operators.discrete import computed
from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError
from tinygen.frontends.onnx.tensor_types import CODES
from tinygen.frontends.onnx.values import Placed, Quantized, Value
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.broadcast_to import BroadcastTo
from tinygen.ops.cast import Cast
from tinygen.ops.clamp import Clamp
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.gather import Gather
from tinygen.ops.integer_arithmetic import IntegerFunction

_MAX_DEPTH = 1 << 24
_FLOAT = CODES[np.dtype(np.float32)]
_PRIMITIVES: Readers = {**discrete.READERS, **elementwise.READERS, **shape.READERS}


def read_one_hot(node: Node) -> Value:
    """OneHot: with a constant depth and constant values; negative indices count from the end, others are nowhere."""
    depth, values = node.integers(1, "depth"), node.constant(2, "values")
    if len(depth) != 1 or not 1 <= depth[0] <= _MAX_DEPTH or values.size != 2:
        raise UnsupportedError(
            f"depth is {list(depth)} with {values.size} values, one number from 1 to {_MAX_DEPTH} and two values "
            "were expected"
        )
    rank = len(node.shape(0)) + 1
    if rank > MAX_RANK:
        raise UnsupportedError(f"the result has {rank} axes, at most {MAX_RANK} were expected")
    axis, size = node.axis(node.integer("axis", -1), rank), depth[0]
    parts, given = Composition(node, _PRIMITIVES), node.raw.inputs[0]
    places = np.arange(size, dtype=np.int32).reshape(*(size if each == axis else 1 for each in range(rank)))
    from_end = parts.apply("Add", given, parts.constant(np.array(size, np.int32)))
    index = parts.apply("Where", parts.apply("Less", given, parts.constant(np.array(0, np.int32))), from_end, given)
    hot = parts.apply("Equal", parts.apply("Unsqueeze", index, parts.integers(axis)), parts.constant(places))
    off, on = values.reshape(-1).tolist()
    if values.dtype == np.float32 and (off, on) == (0, 1):
        return parts.last("Cast", hot, to=_FLOAT)
    return parts.last(
        "Where", hot, parts.constant(np.array(on, values.dtype)), parts.constant(np.array(off, values.dtype))
    )


def read_hardmax(node: Node) -> Value:
    """Hardmax: along any axis a one where the first of the largest numbers is, else 0."""
    node.computes_real("gives a one and zeros")
    sizes, axes, parts = node.shape(0), row_axes(node), Composition(node, _PRIMITIVES)
    x, axis = parts.input(0), axes[0]
    if len(axes) > 1:  # which are one row
        axis = len(sizes[: axes[0]])
        x = parts.apply("Reshape", x, parts.integers(*sizes[:axis], prod(sizes[axis:])))
    shape = parts.shape(x)
    places = np.arange(shape[axis], dtype=np.int32).reshape(*(-1 if n == axis else 1 for n in range(len(shape))))
    hot = parts.apply("Equal", parts.apply("ArgMax", x, axis=axis, keepdims=1), parts.constant(places))
    return parts.last("Reshape", parts.apply("Cast", hot, to=_FLOAT), parts.integers(*sizes))


def chosen_rows(node: Node, vectors: Placed, table: Array) -> Quantized | None:
    """The product of such vectors with a table of float32, [depth, units], as the rows that they choose of it.

    Integers below all places choose a row of zeros in front of the table, those above one behind it. None where the
    vectors are others: of float32, made by comparing integers with consecutive places.
    """
    hot = _hot_vectors(node, vectors)
    if hot is None or not np.isfinite(table).all():
        return None
    builder, name, shape = node.builder, node.output_name, vectors.shape[:-1]
    integers = builder.reshaped(hot.integers, shape, builder.derive(name, "integers"), node.source)
    before = builder.constant(builder.derive(name, "before"), np.array(1 - hot.first, np.int32))
    limits, chosen = Clamp(0, table.shape[0] + 1), builder.derive(name, "indices")
    indices = computed(builder, node.source, IntegerFunction.ADD, integers, before, chosen, limits)
    padded = builder.constant(builder.derive(name, "table"), np.pad(table, ((1, 1), (0, 0))))
    output = builder.result(builder.claim(name), (*shape, table.shape[1]), None)
    op = Gather(
        name=output.name, source=node.source, input=padded, indices=indices, output=output, axis=0, batch_dims=0
    )
    return node.result(op, tuple(range(len(output.shape))))


@dataclass(frozen=True)
class _HotVectors:
    """Vectors whose number i is 1 where an integer is `first` + i, and 0 else."""

    integers: Tensor  # int32; the last axis is of one element
    first: int


def _hot_vectors(node: Node, placed: Placed) -> _HotVectors | None:
    cast = node.builder.maker(placed.tensor)
    compare = node.builder.maker(cast.input) if isinstance(cast, Cast) else None
    is_plain = placed.order == tuple(range(len(placed.order)))
    if not is_plain or not isinstance(compare, Compare) or compare.comparison is not Comparison.EQUAL:
        return None
    operands = (compare.first, compare.second)
    given, places = operands if compare.second.is_constant else operands[::-1]
    repeated = node.builder.maker(given)
    integers = repeated.input if isinstance(repeated, BroadcastTo) else given
    first = _first_place(places, placed.shape[-1])
    if first is None or integers.shape != (*placed.shape[:-1], 1) or integers.type.dtype is not DType.INT32:
        return None
    return _HotVectors(integers, first)


def _first_place(places: Tensor, depth: int) -> int | None:
    """The first of consecutive integers along the last axis, which keep clear of where sums of int32 wrap."""
    if places.data is None or places.type.dtype is not DType.INT32 or places.shape[-1:] != (places.data.size,):
        return None
    first = int(places.data.flat[0])
    is_row = places.data.size == depth and np.array_equal(places.data.reshape(-1), np.arange(first, first + depth))
    return first if is_row and abs(first) < _MAX_DEPTH else None


READERS: Readers = {"Hardmax": read_hardmax, "OneHot": read_one_hot}
