"""Operators on constants, computed while reading: what exporters leave of shapes and parameters."""

from collections.abc import Callable, Mapping
from functools import reduce
from math import ceil, inf, prod
from typing import Any

import numpy as np

from tinygen.frontends.onnx.narrow import coding_behind
from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError
from tinygen.frontends.onnx.tensor_types import dtype_of_code
from tinygen.frontends.onnx.values import Known, Missing, Value
from tinygen.ir.types import Array

_MAX_ELEMENTS = 1 << 22  # of a result; more would not fit a microcontroller

OF_SHAPES = ("Shape", "Size")  # known as soon as the shape of its operand is


def fold(node: Node) -> Value | None:
    """The constant that a node computes; None where it depends on more than constants."""
    operator = node.raw.operator
    if operator in OF_SHAPES:
        sizes = _shape(node)
        return Known(sizes if operator == "Shape" else np.array(sizes.prod(), np.int64))
    if operator not in FOLDED or any(not isinstance(value, Known) for value in _inputs(node)):
        return None
    try:
        result = np.asarray(FOLDED[operator](node))
    except (IndexError, TypeError, OverflowError, MemoryError) as error:
        raise UnsupportedError(f"its constants cannot be computed ({error})") from None
    if result.size > _MAX_ELEMENTS or result.ndim > MAX_RANK:
        raise UnsupportedError(f"its constant result has shape {list(result.shape)}, a smaller one was expected")
    if result.base is None:  # otherwise it lies in what it was made of
        node.builder.spent.derived.spend(result.nbytes, str(node.source))
    return Known(result, coding_behind(node, result))


def _inputs(node: Node) -> list[Value]:
    return [node.values[name] for name in node.raw.inputs if name]


def _shape(node: Node) -> Array:
    value = node.values[node.raw.inputs[0]] if node.has_input(0) else Missing("nothing", is_reported=True)
    if isinstance(value, Missing):
        raise UnsupportedError(f"the shape of the result of {value.origin} is not known")
    rank = len(value.shape)
    start, end = node.integer("start", 0), node.integer("end", rank)
    return np.array(value.shape[start:end], np.int64)


def _array(node: Node, position: int) -> Array:
    return node.constant(position, f"input {position}")


def _constant(node: Node) -> Array:
    attributes = node.raw.attributes
    for name, dtype in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if name in attributes:
            return np.array(attributes[name], dtype)
    value = attributes.get("value")
    if not isinstance(value, np.ndarray):
        raise UnsupportedError("holds no numbers, a tensor was expected")
    return value


def _constant_of_shape(node: Node) -> Array:
    sizes = node.integers(0, "shape")
    value = node.raw.attributes.get("value", np.zeros(1, np.float32))
    if not isinstance(value, np.ndarray) or value.size != 1 or not _is_small(sizes):
        raise UnsupportedError(f"fills shape {list(sizes)} with {value}, one number and a small shape were expected")
    return np.full(sizes, value.reshape(-1)[0], value.dtype)


def _range(node: Node) -> Array:
    given = [_array(node, position).reshape(-1)[0] for position in range(3)]
    start, limit, delta = (number.item() for number in given)
    if not np.isfinite([start, limit, delta]).all() or delta == 0 or abs((limit - start) / delta) > _MAX_ELEMENTS:
        raise UnsupportedError(f"counts from {start} to {limit} by {delta}, a small range was expected")
    steps = np.full(max(ceil((limit - start) / delta), 0), delta, given[0].dtype)
    steps[:1] = start
    return np.add.accumulate(steps, dtype=steps.dtype)  # rounded after each step, as by onnxruntime


def _expand(node: Node) -> Array:
    sizes = node.integers(1, "shape")
    shape = np.broadcast_shapes(_array(node, 0).shape, sizes) if _is_small(sizes) else sizes
    if not _is_small(shape):
        raise UnsupportedError(f"expands to {list(sizes)}, a small shape was expected")
    return np.broadcast_to(_array(node, 0), shape)


def _check_elements(elements: int) -> None:
    if elements > _MAX_ELEMENTS:
        raise UnsupportedError(f"its constant result has {elements} elements, {_MAX_ELEMENTS} at most were expected")


def _is_small(sizes: tuple[int, ...]) -> bool:
    elements = 1
    for size in sizes:
        elements *= max(size, 0)
    return len(sizes) <= MAX_RANK and all(size >= 0 for size in sizes) and elements <= _MAX_ELEMENTS


def _cast(node: Node) -> Array:
    with np.errstate(all="ignore"):
        return _array(node, 0).astype(dtype_of_code(node.integer("to", 0)))


def _concat(node: Node) -> Array:
    parts = [_array(node, position) for position in range(node.input_count)]
    _check_elements(sum(part.size for part in parts))
    return np.concatenate(parts, node.integer("axis", 0))


def _gather(node: Node) -> Array:
    indices = _array(node, 1)
    if not np.issubdtype(indices.dtype, np.integer):
        raise UnsupportedError(f"indices are {indices.dtype}, integers were expected")
    own, axis = _array(node, 0), node.integer("axis", 0)
    _check_elements(indices.size * (own.size // max(own.shape[axis], 1)))
    return np.asarray(np.take(own, indices.astype(np.int64), axis=axis))


def _gather_elements(node: Node) -> Array:
    own, indices, axis = _array(node, 0), _array(node, 1), node.integer("axis", 0)
    if not np.issubdtype(indices.dtype, np.integer) or own.ndim != indices.ndim:
        raise UnsupportedError(
            f"indices are {indices.dtype} of {indices.ndim} dimensions, integers of {own.ndim} were expected"
        )
    axis = node.axis(axis, own.ndim)
    used = list(indices.shape)
    used[axis] = own.shape[axis]
    if any(size > whole for size, whole in zip(used, own.shape, strict=True)):
        raise UnsupportedError(f"indices {list(indices.shape)} do not fit {list(own.shape)}")
    return np.take_along_axis(own[tuple(map(slice, used))], indices.astype(np.int64), axis)


def _cumulative_sum(node: Node) -> Array:
    own, axis = _array(node, 0), _array(node, 1)
    if axis.size != 1 or not np.issubdtype(axis.dtype, np.integer):
        raise UnsupportedError(f"axis is {axis.dtype}{list(axis.shape)}, an integer was expected")
    along = node.axis(int(axis.reshape(-1)[0]), own.ndim)
    is_reversed = node.integer("reverse", 0)
    sums = np.cumsum(np.flip(own, along) if is_reversed else own, along, own.dtype)
    if node.integer("exclusive", 0) and own.size:
        first = np.zeros_like(np.take(own, [0], along))
        sums = np.concatenate((first, np.delete(sums, -1, along)), along)
    return np.flip(sums, along) if is_reversed else sums


def _remainder(function: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    def remainder(first: Array, second: Array) -> Array:
        if np.issubdtype(first.dtype, np.integer) and not np.all(second):
            raise UnsupportedError("is the remainder of a division by 0, other numbers were expected")
        return np.asarray(function(first, second))

    return remainder


def _least(dtype: np.dtype[Any], function: Callable[..., Array]) -> float:
    """What the largest, or the smallest, of no elements is: an end of the type's range."""
    if dtype.kind == "f":
        ends = -inf, inf
    else:
        ends = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return ends[0] if function is np.max else ends[1]


def _reduced(function: Callable[..., Array]) -> Callable[[Node], Array]:
    def fold_reduction(node: Node) -> Array:
        own = _array(node, 0)
        listed = node.integers(1, "axes") if node.has_input(1) else node.integer_list("axes", ())
        is_none = not listed and node.integer("noop_with_empty_axes", 0) == 1
        axes = () if is_none else node.axes_of(listed, own.ndim) or tuple(range(own.ndim))
        if 0 in own.shape and function is np.mean:
            raise UnsupportedError(f"is the mean of shape {list(own.shape)}, at least one element was expected")
        of_nothing = {"initial": _least(own.dtype, function)} if 0 in own.shape and function in (np.max, np.min) else {}
        with np.errstate(all="ignore"):
            found = function(own, axis=axes, keepdims=node.integer("keepdims", 1) == 1, **of_nothing)
        return np.asarray(found).astype(own.dtype)

    return fold_reduction


def _power(node: Node) -> Array:
    """Of the base's type, whatever the exponent's is."""
    base, exponent = _array(node, 0), _array(node, 1)
    if base.dtype == np.bool_ or not _is_small(np.broadcast_shapes(base.shape, exponent.shape)):
        raise UnsupportedError(f"operands are {base.dtype}{list(base.shape)} and {list(exponent.shape)}")
    with np.errstate(all="ignore"):
        return np.asarray(np.power(base, exponent)).astype(base.dtype)


def _extreme(function: Callable[[Array, Array], Array]) -> Callable[[Node], Array]:
    def fold_many(node: Node) -> Array:
        operands = [_array(node, position) for position in range(node.input_count)]
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        if len({operand.dtype for operand in operands}) != 1 or not _is_small(shape):
            raise UnsupportedError(f"operands are {', '.join(f'{o.dtype}{list(o.shape)}' for o in operands)}")
        return reduce(function, operands)

    return fold_many


def _tile(node: Node) -> Array:
    own, repeats = _array(node, 0), node.integers(1, "repeats")
    if len(repeats) != own.ndim or any(count < 0 for count in repeats):
        raise UnsupportedError(f"repeats are {list(repeats)} for shape {list(own.shape)}, one an axis was expected")
    _check_elements(own.size * prod(repeats))
    return np.tile(own, repeats)


def _triangle(node: Node) -> Array:
    """Trilu: the part of matrices above or below a diagonal, the rest 0."""
    own = _array(node, 0)
    diagonal = diagonal_within(own.shape, node.integers(1, "diagonal") if node.has_input(1) else (0,))
    return np.triu(own, diagonal) if node.integer("upper", 1) else np.tril(own, diagonal)


def diagonal_within(sizes: tuple[int, ...], diagonals: tuple[int, ...]) -> int:
    """The one diagonal of matrices, or where it is beyond all elements the first one beyond them."""
    if len(sizes) < 2:
        raise UnsupportedError(f"input has shape {list(sizes)}, matrices were expected")
    if len(diagonals) != 1:
        raise UnsupportedError(f"diagonals are {list(diagonals[:10])}, one number was expected")
    return max(-sizes[-2] - 1, min(diagonals[0], sizes[-1] + 1))


def _reshape(node: Node) -> Array:
    own, sizes = _array(node, 0), node.integers(1, "shape")
    return own.reshape([own.shape[axis] if size == 0 else size for axis, size in enumerate(sizes)])


def _squeeze(node: Node) -> Array:
    axes = node.integers(1, "axes") if node.has_input(1) else node.raw.attributes.get("axes")
    return np.squeeze(_array(node, 0), None if axes is None else tuple(np.asarray(axes).tolist()))


def _unsqueeze(node: Node) -> Array:
    axes = node.integers(1, "axes") if node.has_input(1) else node.integer_list("axes")
    if len(axes) + _array(node, 0).ndim > MAX_RANK:
        raise UnsupportedError(f"adds axes {list(axes)}, {MAX_RANK} dimensions at most were expected")
    return np.expand_dims(_array(node, 0), axes)


def _transpose(node: Node) -> Array:
    rank = _array(node, 0).ndim
    return _array(node, 0).transpose(node.integer_list("perm", tuple(reversed(range(rank)))))


def _slice(node: Node) -> Array:
    own, starts, ends = _array(node, 0), node.integers(1, "starts"), node.integers(2, "ends")
    axes = node.integers(3, "axes") if node.has_input(3) else tuple(range(len(starts)))
    steps = node.integers(4, "steps") if node.has_input(4) else (1,) * len(starts)
    index = [slice(None)] * own.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = slice(start, end, step)
    return own[tuple(index)]


def _where(node: Node) -> Array:
    condition, first, second = (_array(node, position) for position in range(3))
    shape = np.broadcast_shapes(condition.shape, first.shape, second.shape)
    if condition.dtype != np.bool_ or first.dtype != second.dtype or not _is_small(shape):
        raise UnsupportedError(f"operands are {condition.dtype}, {first.dtype} and {second.dtype}")
    return np.where(condition, first, second)


def _flatten(node: Node) -> Array:
    own, axis = _array(node, 0), node.integer("axis", 1)
    return own.reshape(int(np.prod(own.shape[:axis])), -1)


def _divide(first: Array, second: Array) -> Array:
    if not np.issubdtype(first.dtype, np.integer):
        return np.asarray(np.divide(first, second))
    if not np.all(second):
        raise UnsupportedError("divides by 0, another number was expected")
    return np.asarray(np.trunc(np.true_divide(first, second)).astype(first.dtype))


def _binary(function: Callable[[Array, Array], Array]) -> Callable[[Node], Array]:
    def fold_two(node: Node) -> Array:
        first, second = _array(node, 0), _array(node, 1)
        if first.dtype != second.dtype or not _is_small(np.broadcast_shapes(first.shape, second.shape)):
            raise UnsupportedError(
                f"operands are {first.dtype}{list(first.shape)} and {second.dtype}{list(second.shape)}"
            )
        with np.errstate(all="ignore"):
            return np.asarray(function(first, second))

    return fold_two


def _clip(node: Node) -> Array:
    """Limits are inputs since opset 11, attributes before."""
    own = _array(node, 0)
    if node.opset < 11:
        least = float(np.finfo(np.float32).max)
        return np.clip(own, node.number("min", -least), node.number("max", least)).astype(own.dtype)
    limits = [_array(node, position) if node.has_input(position) else None for position in (1, 2)]
    if any(limit is not None and (limit.dtype != own.dtype or limit.size != 1) for limit in limits):
        raise UnsupportedError(f"limits {own.dtype} by other numbers, one of the same type was expected")
    low, high = (None if limit is None else limit.reshape(()) for limit in limits)
    return own if low is None and high is None else np.asarray(np.clip(own, low, high))


def _bit_shift(node: Node) -> Array:
    """Of integers without a sign, as bits of packed weights are taken; by all of them or more nothing is left."""
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT") or any(_array(node, position).dtype.kind != "u" for position in (0, 1)):
        raise UnsupportedError(f"shifts to '{direction}', LEFT or RIGHT of integers without a sign was expected")
    return _binary(np.left_shift if direction == "LEFT" else np.right_shift)(node)


def _modulo(node: Node) -> Array:
    """Of the sign of the second number; with `fmod` of that of the first, as in C."""
    return _binary(_remainder(np.fmod if node.integer("fmod", 0) else np.mod))(node)


def _unary(function: Callable[[Array], Array]) -> Callable[[Node], Array]:
    def fold_one(node: Node) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(_array(node, 0)))

    return fold_one


FOLDED: Mapping[str, Callable[[Node], Array]] = {
    "Abs": _unary(np.abs),
    "Add": _binary(np.add),
    "And": _binary(np.logical_and),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(np.bitwise_and),
    "BitwiseNot": _unary(np.bitwise_not),
    "BitwiseOr": _binary(np.bitwise_or),
    "BitwiseXor": _binary(np.bitwise_xor),
    "Cast": _cast,
    "Ceil": _unary(np.ceil),
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumulative_sum,
    "Div": _binary(_divide),
    "Equal": _binary(np.equal),
    "Exp": _unary(np.exp),
    "Expand": _expand,
    "Flatten": _flatten,
    "Floor": _unary(np.floor),
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Greater": _binary(np.greater),
    "GreaterOrEqual": _binary(np.greater_equal),
    "Identity": _unary(np.asarray),
    "Less": _binary(np.less),
    "LessOrEqual": _binary(np.less_equal),
    "Log": _unary(np.log),
    "Max": _extreme(np.maximum),
    "Min": _extreme(np.minimum),
    "Mod": _modulo,
    "Mul": _binary(np.multiply),
    "Neg": _unary(np.negative),
    "Not": _unary(np.logical_not),
    "Or": _binary(np.logical_or),
    "Pow": _power,
    "Range": _range,
    "Reciprocal": _unary(np.reciprocal),
    "ReduceMax": _reduced(np.max),
    "ReduceMean": _reduced(np.mean),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Reshape": _reshape,
    "Round": _unary(np.rint),
    "Sign": _unary(np.sign),
    "Slice": _slice,
    "Sqrt": _unary(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _binary(np.subtract),
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
    "Xor": _binary(np.logical_xor),
}
