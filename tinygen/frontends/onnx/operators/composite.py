"""Normalizations, sums and products that are read as the operators which ONNX defines them by."""

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Reader, Readers
from tinygen.frontends.onnx.operators import activation, elementwise, function, matmul, movement, reduction, shape
from tinygen.frontends.onnx.operators.einsum import MatrixProduct, product_of
from tinygen.frontends.onnx.operators.per_channel import numbers_of
from tinygen.frontends.onnx.operators.standardization import Groups, is_quantized, standardized
from tinygen.frontends.onnx.raw import Attribute, UnsupportedError
from tinygen.frontends.onnx.values import Order, Value
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
    """LogSoftmax along one axis: differences to the largest number keep exponentials within range."""
    parts, x = _composition(node), node.raw.inputs[0]
    own = parts.shape(x)
    axis = node.axis(node.integer("axis", -1 if node.opset >= 13 else 1), len(own))
    if node.opset < 13 and axis != len(own) - 1:
        raise UnsupportedError(f"axis {axis} of {len(own)} dimensions before opset 13, the last one was expected")
    lower = parts.apply("Sub", x, parts.apply("ReduceMax", x, axes=(axis,), keepdims=1))
    total = parts.apply("ReduceSum", parts.apply("Exp", lower), parts.integers(axis), keepdims=1)
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
    """Tile: repeats along each axis, as an axis of its own that is expanded."""
    parts, x = _composition(node), node.raw.inputs[0]
    own, repeats = parts.shape(x), node.integers(1, "repeats")
    if len(repeats) != len(own) or any(count < 1 for count in repeats):
        raise UnsupportedError(f"repeats are {list(repeats)} for shape {list(own)}, one above 0 an axis was expected")
    sizes = list(own)
    for axis in (axis for axis, count in enumerate(repeats) if count > 1):
        before, after = sizes[:axis], sizes[axis:]
        ones = parts.apply("Reshape", x, parts.integers(*before, 1, *after))
        expanded = parts.apply("Expand", ones, parts.integers(*before, repeats[axis], *after))
        sizes[axis] *= repeats[axis]
        x = parts.apply("Reshape", expanded, parts.integers(*sizes))
    return parts.last("Identity", x)


def read_einsum(node: Node) -> Value:
    """Einsum of two tensors that is a matrix product, perhaps of many matrices, or of one that is a transpose."""
    parts = _composition(node)
    names = [parts.input(position) for position in range(node.input_count)]
    found = product_of(node.text("equation", ""), [parts.shape(name) for name in names])
    if found.right is None:
        return parts.last("Transpose", names[0], perm=found.output_order)
    return _matrix_product(parts, names, found)


def _matrix_product(parts: Composition, names: Sequence[str], found: MatrixProduct) -> Value:
    assert found.right is not None
    operands = [
        parts.apply("Reshape", parts.apply("Transpose", name, perm=side.order), parts.integers(*side.sizes))
        for name, side in zip(names, (found.left, found.right), strict=True)
    ]
    product = parts.apply("Reshape", parts.apply("MatMul", *operands), parts.integers(*found.sizes))
    return parts.last("Transpose", product, perm=found.output_order)


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
    "ReduceSumSquare": read_sum_of_squares,
    "SimplifiedLayerNormalization": read_rms_normalization,
    "Sum": read_sum_of_many,
    "Swish": read_swish,
    "Tile": read_tile,
}
