"""Operators that give the same elements another shape, or pass them on."""

from math import prod

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Form, Pending, Placed, Quantized, Real, Stored, Value
from tinygen.ir.types import Quant


def read_identity(node: Node) -> Value:
    """Identity."""
    return node.value(0)


def read_dropout(node: Node) -> Value:
    """Dropout: inference, which changes nothing."""
    if node.has_input(2) and node.constant(2, "training mode").any():
        raise UnsupportedError("is in training mode, inference was expected")
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives its mask too, values alone were expected")
    return node.value(0)


def read_reshape(node: Node) -> Value:
    """Reshape: to a constant shape."""
    sizes = node.integers(1, "shape")
    own = node.shape(0)
    if len(sizes) > MAX_RANK or sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise UnsupportedError(f"shape is {list(sizes)}, up to {MAX_RANK} sizes with one -1 at most were expected")
    if not node.integer("allowzero", 0):
        if any(size == 0 and axis >= len(own) for axis, size in enumerate(sizes)):
            raise UnsupportedError(f"shape {list(sizes)} copies axes that {list(own)} does not have")
        sizes = tuple(own[axis] if size == 0 else size for axis, size in enumerate(sizes))
    known = prod(size for size in sizes if size != -1)
    open_size = prod(own) // known if known else 0
    shape = tuple(open_size if size == -1 else size for size in sizes)
    return _reshaped(node, shape)


def read_flatten(node: Node) -> Value:
    """Flatten: to two dimensions."""
    own = node.shape(0)
    axis = node.integer("axis", 1)
    axis = axis + len(own) if axis < 0 else axis
    if not 0 <= axis <= len(own):
        raise UnsupportedError(f"axis {axis} of shape {list(own)}, an axis that exists was expected")
    return _reshaped(node, (prod(own[:axis]), prod(own[axis:])))


def read_squeeze(node: Node) -> Value:
    """Squeeze."""
    own = node.shape(0)
    given = _axes(node)
    axes = tuple(a for a, size in enumerate(own) if size == 1) if given is None else node.axes_of(given, len(own))
    if any(own[axis] != 1 for axis in axes):
        raise UnsupportedError(f"axes {list(axes)} of shape {list(own)} are not all of size 1")
    return _reshaped(node, tuple(size for axis, size in enumerate(own) if axis not in axes))


def read_unsqueeze(node: Node) -> Value:
    """Unsqueeze."""
    own = node.shape(0)
    given = _axes(node)
    if given is None or len(own) + len(given) > MAX_RANK:
        raise UnsupportedError(f"axes are {given} for shape {list(own)}, a few were expected")
    rank = len(own) + len(given)
    axes = node.axes_of(given, rank)
    sizes = iter(own)
    return _reshaped(node, tuple(1 if axis in axes else next(sizes) for axis in range(rank)))


def read_transpose(node: Node) -> Value:
    """Transpose: costs nothing, the next operator reads its axes in another order."""
    value = node.value(0)
    rank = len(node.shape(0))
    permutation = node.integer_list("perm", tuple(reversed(range(rank))))
    if sorted(permutation) != list(range(rank)):
        raise UnsupportedError(f"perm {list(permutation)} does not name each of {rank} axes once")
    if isinstance(value, Stored):
        return Stored(permuted(value.placed, permutation), value.is_unsigned)
    if isinstance(value, Discrete):
        return Discrete(permuted(value.placed, permutation))
    if isinstance(value, Quantized):
        return Quantized(permuted(value.placed, permutation))
    input = node.real(0)

    def make(quant: Form, name: str) -> Placed:
        return permuted(node.builder.at(input, quant, name), permutation)

    shape = tuple(input.shape[axis] for axis in permutation)
    range_ = input.range if isinstance(input, Pending) else None
    return node.pending(shape, make, _exact(input), range_)


def permuted(placed: Placed, permutation: tuple[int, ...]) -> Placed:
    """A tensor of which axis i is axis permutation[i] of another one, in the same memory."""
    return Placed(placed.tensor, tuple(permutation.index(axis) for axis in placed.order))


def _exact(value: Real) -> Quant | None:
    return value.placed.quant if isinstance(value, Quantized) else value.exact


def _axes(node: Node) -> tuple[int, ...] | None:
    """Axes of squeezing operators: an input since opset 13, an attribute before."""
    if node.has_input(1):
        return node.integers(1, "axes")
    return node.integer_list("axes") if "axes" in node.raw.attributes else None


def _reshaped(node: Node, shape: tuple[int, ...]) -> Value:
    if prod(shape) != prod(node.shape(0)):
        raise UnsupportedError(f"shape {list(shape)} does not have the elements of {list(node.shape(0))}")
    value = node.value(0)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:  # noqa: ARG001 - the input's
        plain = node.builder.plain(inputs[0])
        return Placed(node.builder.reshaped(plain, shape, name, node.source), tuple(range(len(shape))))

    if isinstance(value, Stored):
        name = node.builder.claim(node.output_name)
        placed = make((value.placed,), value.placed.quant, name)
        return Stored(placed, value.is_unsigned)
    if isinstance(value, Discrete):
        return Discrete(make((value.placed,), None, node.builder.claim(node.output_name)))
    return node.kept((node.real(0),), shape, make)


READERS: Readers = {
    "Dropout": read_dropout,
    "Flatten": read_flatten,
    "Identity": read_identity,
    "Reshape": read_reshape,
    "Squeeze": read_squeeze,
    "Transpose": read_transpose,
    "Unsqueeze": read_unsqueeze,
}
