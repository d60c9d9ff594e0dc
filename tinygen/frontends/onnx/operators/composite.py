"""Normalizations, sums and products that are read as the operators which ONNX defines them by."""

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Reader, Readers
from tinygen.frontends.onnx.operators import activation, elementwise, function, matmul, movement, reduction, shape
from tinygen.frontends.onnx.operators.einsum import product_of
from tinygen.frontends.onnx.operators.per_channel import numbers_of
from tinygen.frontends.onnx.operators.standardization import Groups, is_quantized, standardized
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import Attribute, UnsupportedError
from tinygen.frontends.onnx.values import Known, Order, Value
from tinygen.ir.types import Array
from tinygen.ops.real_function import Reals

_PRIMITIVES: Readers = {
    **activation.READERS,
    **elementwise.READERS,
    **function.READERS,
    **matmul.READERS,
    **movement.READERS,
    **reduction.READERS,
    **shape.READERS,
}
_EPSILON = 1e-5
_REDUCTION = ("axes", "keepdims", "noop_with_empty_axes")  # attributes of sums


def read_layer_normalization(node: Node) -> tuple[Value, ...]:
    """LayerNormalization: over all axes from one on, then a factor and a summand for each element of these."""
    parts, x = _composition(node), node.raw.inputs[0]
    rank = len(parts.shape(x))
    axes = tuple(range(node.axis(node.integer("axis", -1), rank), rank))
    if is_quantized(node):
        return (_over_last(node, axes),)
    mean = parts.apply("ReduceMean", x, axes=axes, keepdims=1)
    centered = parts.apply("Sub", x, mean)
    deviation = _inverse_deviation(parts, node, centered, axes)
    result = _scaled(parts, centered, deviation, _optional(node, 1), _optional(node, 2))
    return result, parts.value(mean), parts.value(deviation)


def read_rms_normalization(node: Node) -> Value:
    """RMSNormalization, and SimplifiedLayerNormalization: as LayerNormalization, without taking off the mean."""
    _check_one_output(node)
    parts, x = _composition(node), node.raw.inputs[0]
    rank = len(parts.shape(x))
    axes = tuple(range(node.axis(node.integer("axis", -1), rank), rank))
    if is_quantized(node):
        return _over_last(node, axes, centers=False)
    return _scaled(parts, x, _inverse_deviation(parts, node, x, axes), _optional(node, 1), None)


def read_instance_normalization(node: Node) -> Value:
    """InstanceNormalization: over the pixels of each channel, then a factor and a summand for each channel."""
    parts, x = _composition(node), node.raw.inputs[0]
    own = parts.shape(x)
    if len(own) < 3:
        raise UnsupportedError(f"input has shape {list(own)}, at least 3 dimensions were expected")
    if is_quantized(node):
        return _over_pixels(node)
    factors, summands = (_per_channel(parts, node, position, own) for position in (1, 2))
    centered, deviation = _standardized(parts, node, x, tuple(range(2, len(own))))
    return _scaled(parts, centered, deviation, factors, summands)


def read_group_normalization(node: Node) -> Value:
    """GroupNormalization: over groups of channels, then a factor and a summand for each channel."""
    parts, x = _composition(node), node.raw.inputs[0]
    own, groups = parts.shape(x), node.integer("num_groups", 1)
    if len(own) < 2 or groups < 1 or own[1] % groups:
        raise UnsupportedError(f"{groups} groups do not divide the channels of {list(own)}")
    if is_quantized(node):
        return _over_groups(node, groups)
    factors, summands = (_per_channel(parts, node, position, own, groups) for position in (1, 2))
    grouped = parts.apply("Reshape", x, parts.integers(own[0], groups, -1))
    centered, deviation = _standardized(parts, node, grouped, (2,))
    whole = parts.apply("Reshape", parts.apply("Mul", centered, deviation), parts.integers(*own))
    return parts.last("Add", parts.apply("Mul", whole, factors), summands)


def _over_last(node: Node, axes: tuple[int, ...], centers: bool = True) -> Value:
    """Of a quantized tensor, over its last axes."""
    own = node.shape(0)
    size = prod(own[axes[0] :])
    factors, summands = (_numbers(node, position, own[axes[0] :], size) for position in (1, 2))
    groups = Groups(tuple(range(len(own))), own, axes, 1, size)
    return standardized(node, groups, node.number("epsilon", _EPSILON), factors, summands, centers)


def _over_pixels(node: Node) -> Value:
    """Of a quantized tensor, over the pixels of each channel: the last axis, or the one before the channels."""
    own = node.shape(0)
    rank, channels, pixels = len(own), own[1], prod(own[2:])
    factors, summands = (_numbers(node, position, (channels,), channels) for position in (1, 2))
    last: Order = (0, *range(2, rank), 1)
    if node.activation(0).order == last:
        groups = Groups(last, (own[0], *own[2:], channels), tuple(range(1, rank - 1)), 1, channels)
    else:
        groups = Groups(tuple(range(rank)), own, tuple(range(2, rank)), pixels, channels)
    return standardized(node, groups, node.number("epsilon", _EPSILON), factors, summands, centers=True)


def _over_groups(node: Node, groups: int) -> Value:
    """Of a quantized tensor, over groups of channels."""
    own = node.shape(0)
    channels, pixels = own[1], prod(own[2:])
    factors, summands = (_numbers(node, position, (channels,), channels, groups) for position in (1, 2))
    shape = own[0], groups, channels // groups * pixels
    found = Groups(tuple(range(len(own))), shape, (2,), pixels, channels)
    return standardized(node, found, node.number("epsilon", _EPSILON), factors, summands, centers=True)


def _numbers(node: Node, position: int, shape: tuple[int, ...], size: int, groups: int = 1) -> Reals:
    """Factors, input 1, or summands, input 2, one for each of `size` channels."""
    if not node.has_input(position):
        return np.full(size, 1.0 if position == 1 else 0.0)
    numbers = numbers_of(node, position)
    assert numbers is not None
    if numbers.shape == (groups,) != shape:
        numbers = np.repeat(numbers, size // groups)
    try:
        found: Reals = np.broadcast_to(numbers, shape).reshape(-1)
    except ValueError:
        raise UnsupportedError(
            f"input {position} has shape {list(numbers.shape)}, {list(shape)} was expected"
        ) from None
    return found


def read_log_softmax(node: Node) -> Value:
    """LogSoftmax: along any axis; of int8 as an output without QuantizeLinear, which has scale 1/16."""
    if is_quantized(node):
        return activation.read_log_softmax(node)
    parts, x = _composition(node), node.raw.inputs[0]
    axes = activation.row_axes(node)
    lower = parts.apply("Sub", x, parts.apply("ReduceMax", x, axes=axes, keepdims=1))
    total = parts.apply("ReduceSum", parts.apply("Exp", lower), parts.integers(*axes), keepdims=1)
    return parts.last("Sub", lower, parts.apply("Log", total))


def read_reduced(node: Node, before: str, after: str) -> Value:
    """A sum of functions of the elements, or a function of the sum."""
    parts = _composition(node)
    x = parts.apply(before, parts.input(0)) if before else parts.input(0)
    if before == "Abs" and after == "Sqrt":
        x = parts.apply("Mul", x, x)
    axes = (parts.input(1),) if node.has_input(1) else ()
    attributes = _of_reduction(node)
    if not after:
        return parts.last("ReduceSum", x, *axes, **attributes)
    return parts.last(after, parts.apply("ReduceSum", x, *axes, **attributes))


def read_sum_of_squares(node: Node) -> Value:
    """ReduceSumSquare."""
    parts = _composition(node)
    x = parts.input(0)
    axes = (parts.input(1),) if node.has_input(1) else ()
    return parts.last("ReduceSum", parts.apply("Mul", x, x), *axes, **_of_reduction(node))


def read_product(node: Node) -> Value:
    """ReduceProd: along constant axes, by products of halves; of integers only of constants."""
    if reduction.reduces_nothing(node):
        return node.value(0)
    own = node.shape(0)
    if 0 in own:
        raise UnsupportedError(f"input has shape {list(own)}, at least one element was expected")
    parts, axes = _composition(node), reduction.reduced_axes(node, len(own))
    if prod(own[axis] for axis in axes) > 2:
        node.computes_real("is a product of more than two numbers")
    x = parts.input(0)
    for axis in axes:
        while (size := parts.shape(x)[axis]) > 1:
            half = size // 2
            ends = [_part(parts, x, axis, begin, begin + half) for begin in (0, half)]
            product = parts.apply("Mul", *ends)
            odd = [_part(parts, x, axis, size - 1, size)] if size % 2 else []
            x = parts.apply("Concat", product, *odd, axis=axis) if odd else product
    return parts.last("Reshape", x, parts.integers(*reduction.reduced_shape(node, own, axes)))


def _part(parts: Composition, name: str, axis: int, begin: int, end: int) -> str:
    return parts.apply("Slice", name, parts.integers(begin), parts.integers(end), parts.integers(axis))


def _of_reduction(node: Node) -> dict[str, Attribute]:
    return {name: node.raw.attributes[name] for name in _REDUCTION if name in node.raw.attributes}


def read_sum_of_many(node: Node) -> Value:
    """Sum and Mean of any number of tensors."""
    parts, count = _composition(node), node.input_count
    total = parts.input(0)
    for position in range(1, count):
        total = parts.apply("Add", total, parts.input(position))
    factor = 1.0 / count if node.raw.operator == "Mean" else 1.0
    return parts.last("Mul", total, parts.number(factor))


def read_swish(node: Node) -> Value:
    """Swish and QuickGelu: x * sigmoid(alpha * x)."""
    parts, x = _composition(node), node.raw.inputs[0]
    alpha = node.number("alpha", 1.702 if node.raw.operator == "QuickGelu" else 1.0)
    scaled = x if alpha == 1.0 else parts.apply("Mul", x, parts.number(alpha))
    return parts.last("Mul", x, parts.apply("Sigmoid", scaled))


def read_biased_gelu(node: Node, approximate: str) -> Value:
    """BiasGelu and FastGelu: of the input plus a bias, exact or with tanh."""
    parts = _composition(node)
    x = parts.apply("Add", parts.input(0), parts.input(1)) if node.has_input(1) else parts.input(0)
    return parts.last("Gelu", x, approximate=approximate)


def read_tile(node: Node) -> Value:
    """Tile: repeats along each axis."""
    parts, x = _composition(node), node.raw.inputs[0]
    own, repeats = parts.shape(x), node.integers(1, "repeats")
    if len(repeats) != len(own) or any(count < 1 for count in repeats):
        raise UnsupportedError(f"repeats are {list(repeats)} for shape {list(own)}, one above 0 an axis was expected")
    for axis in (axis for axis, count in enumerate(repeats) if count > 1):
        x = parts.repeated(x, axis, repeats[axis])
    return parts.last("Identity", x)


def read_einsum(node: Node) -> Value:
    """Einsum of two tensors as products of matrices or elements, or of one as sums and a transpose; no diagonals."""
    parts = _composition(node)
    names = [parts.input(position) for position in range(node.input_count)]
    found = product_of(node.text("equation", ""), [parts.shape(name) for name in names])
    left = _summed(parts, names[0], found.left.lost)
    if found.right is None:
        return parts.last("Transpose", left, perm=found.output_order)
    pairs = (left, found.left), (_summed(parts, names[1], found.right.lost), found.right)
    operands = [
        parts.apply("Reshape", parts.apply("Transpose", name, perm=side.order), parts.integers(*side.sizes))
        for name, side in pairs
    ]
    product = parts.apply("MatMul" if found.sums else "Mul", *operands)
    return parts.last(
        "Transpose", parts.apply("Reshape", product, parts.integers(*found.sizes)), perm=found.output_order
    )


def _summed(parts: Composition, name: str, axes: tuple[int, ...]) -> str:
    return parts.apply("ReduceSum", name, parts.integers(*axes), keepdims=0) if axes else name


def read_gather_nd(node: Node) -> Value:
    """GatherND: with constant indices, or along one axis with those that are known at run time."""
    parts, batches = _composition(node), node.integer("batch_dims", 0)
    own, shape = node.shape(0), node.shape(1)
    depth = shape[-1] if shape else 0
    if not 0 <= batches < len(shape) or not 0 < depth <= len(own) - batches or shape[:batches] != own[:batches]:
        raise UnsupportedError(f"indices {list(shape)} with {batches} axes of batches do not fit {list(own)}")
    if isinstance(node.value(1), Known):
        chosen = parts.constant(_flat_indices(node.constant(1, "indices"), own[: batches + depth], batches))
    elif (batches, depth) == (0, 1):
        chosen = parts.apply("Reshape", parts.input(1), parts.integers(*shape[:-1]))
    else:
        raise UnsupportedError(
            f"indices {list(shape)} are computed at run time, constants or one a place were expected"
        )
    taken = own[batches + depth :]
    flat = parts.apply("Reshape", parts.input(0), parts.integers(prod(own[: batches + depth]), *taken))
    return parts.last("Gather", flat, chosen, axis=0)


def _flat_indices(indices: Array, sizes: tuple[int, ...], batches: int) -> Array:
    """Positions along one axis in place of those along all of `sizes`, of which the first are those of the batch."""
    if indices.dtype.kind != "i":
        raise UnsupportedError(f"indices are {indices.dtype}, integers with a sign were expected")
    depth = indices.shape[-1]
    wide = indices.astype(np.int64)
    limits = np.array(sizes[len(sizes) - depth :])
    if not ((-limits <= wide) & (wide < limits)).all():
        raise UnsupportedError(f"indices reach outside of {limits.tolist()}")
    own = np.moveaxis(np.where(wide < 0, wide + limits, wide), -1, 0)
    around = np.indices(indices.shape[:-1])[:batches]
    return np.asarray(np.ravel_multi_index((*around, *own), sizes), np.int64)


def read_fused_matmul(node: Node) -> Value:
    """FusedMatMul: a product of matrices, which may be transposed before, times a number; vectors stay as they are."""
    node.check_attributes(transBatchA=0, transBatchB=0)
    parts = _composition(node)
    operands = [
        _turned(parts, parts.input(position)) if node.integer(name, 0) else parts.input(position)
        for position, name in enumerate(("transA", "transB"))
    ]
    alpha = node.number("alpha", 1.0)
    if alpha == 1.0:
        return parts.last("MatMul", *operands)
    return parts.last("Mul", parts.apply("MatMul", *operands), parts.number(alpha))


def _turned(parts: Composition, name: str) -> str:
    """Matrices with rows and columns swapped; a vector as it is, as onnxruntime has it."""
    rank = len(parts.shape(name))
    if rank < 2:
        return name
    return parts.apply("Transpose", name, perm=(*range(rank - 2), rank - 1, rank - 2))


def _composition(node: Node) -> Composition:
    node.value(0)
    return Composition(node, _PRIMITIVES)


def _optional(node: Node, position: int) -> str | None:
    return node.raw.inputs[position] if node.has_input(position) else None


def _check_one_output(node: Node) -> None:
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives means or deviations too, values alone were expected")


def _standardized(parts: Composition, node: Node, x: str, axes: tuple[int, ...]) -> tuple[str, str]:
    """Numbers less their mean, and one over their deviation."""
    centered = parts.apply("Sub", x, parts.apply("ReduceMean", x, axes=axes, keepdims=1))
    return centered, _inverse_deviation(parts, node, centered, axes)


def _inverse_deviation(parts: Composition, node: Node, centered: str, axes: tuple[int, ...]) -> str:
    squares = parts.apply("ReduceMean", parts.apply("Mul", centered, centered), axes=axes, keepdims=1)
    variance = parts.apply("Add", squares, parts.number(node.number("epsilon", _EPSILON)))
    return parts.apply("Reciprocal", parts.apply("Sqrt", variance))


def _scaled(parts: Composition, centered: str, deviation: str, factors: str | None, summands: str | None) -> Value:
    if factors is None:
        return parts.last("Mul", centered, deviation)
    standard = parts.apply("Mul", centered, deviation)
    if summands is None:
        return parts.last("Mul", standard, factors)
    return parts.last("Add", parts.apply("Mul", standard, factors), summands)


def _per_channel(parts: Composition, node: Node, position: int, shape: Sequence[int], groups: int = 1) -> str:
    """A constant number for each channel, which is axis 1, or for each group of them."""
    found = numbers_of(node, position)
    numbers = node.constant(position, f"input {position}") if found is None else found.astype(np.float32)
    if numbers.shape not in ((shape[1],), (groups,)):
        raise UnsupportedError(f"input {position} has shape {list(numbers.shape)}, [{shape[1]}] was expected")
    spread = np.repeat(numbers, shape[1] // numbers.size)
    return parts.constant(spread.reshape(-1, *(1,) * (len(shape) - 2)))


def _reduced(before: str, after: str) -> Reader:
    return partial(read_reduced, before=before, after=after)


READERS: Readers = {
    "BiasGelu": partial(read_biased_gelu, approximate="none"),
    "Einsum": read_einsum,
    "FastGelu": partial(read_biased_gelu, approximate="tanh"),
    "FusedMatMul": read_fused_matmul,
    "GatherND": with_stored(read_gather_nd),
    "GroupNormalization": read_group_normalization,
    "InstanceNormalization": read_instance_normalization,
    "LayerNormalization": read_layer_normalization,
    "LogSoftmax": read_log_softmax,
    "Mean": read_sum_of_many,
    "QuickGelu": read_swish,
    "RMSNormalization": read_rms_normalization,
    "ReduceL1": _reduced("Abs", ""),
    "ReduceL2": _reduced("Abs", "Sqrt"),
    "ReduceLogSum": _reduced("", "Log"),
    "ReduceLogSumExp": _reduced("Exp", "Log"),
    "ReduceProd": read_product,
    "ReduceSumSquare": read_sum_of_squares,
    "SimplifiedLayerNormalization": read_rms_normalization,
    "Sum": read_sum_of_many,
    "Swish": read_swish,
    "Tile": read_tile,
}
