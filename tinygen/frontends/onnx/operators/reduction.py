"""Reductions."""

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.values import Form, Order, Placed, Real
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Reduction, Sum

_SUMS = {"ReduceMean": Mean, "ReduceSum": Sum}
_EXTREMES = {"ReduceMax": ReduceMax, "ReduceMin": ReduceMin}


def read_sum(node: Node) -> Real:
    """ReduceMean and ReduceSum: along constant axes."""
    if reduces_nothing(node):
        return node.real(0)
    input = node.activation(0)
    axes = reduced_axes(node, len(input.shape))
    kind = _SUMS[node.raw.operator]

    def make(quant: Form, name: str) -> Placed:
        return _reduce(node, kind, input, axes, quant, name)

    return node.pending(reduced_shape(node, input.shape, axes), make)


def read_extreme(node: Node) -> Real:
    """ReduceMax and ReduceMin: along constant axes."""
    input = node.real(0)
    if reduces_nothing(node):
        return input
    axes = reduced_axes(node, len(input.shape))
    kind = _EXTREMES[node.raw.operator]

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        return _reduce(node, kind, inputs[0], axes, quant, name)

    return node.kept((input,), reduced_shape(node, input.shape, axes), make)


def _reduce(node: Node, kind: type[Reduction], input: Placed, axes: tuple[int, ...], quant: Form, name: str) -> Placed:
    keeps = node.integer("keepdims", 1) != 0
    kept_order = input.order if keeps else tuple(axis for axis in input.order if axis not in axes)
    sizes = {axis: 1 if axis in axes else size for axis, size in enumerate(input.shape)}
    output = node.builder.result(name, tuple(sizes[axis] for axis in kept_order), quant)
    own_axes = tuple(sorted(input.axis(axis) for axis in axes))
    op = kind(name=name, source=node.source, input=input.tensor, output=output, axes=own_axes)
    return node.emit(op, _renumbered(kept_order))


def _renumbered(order: Order) -> Order:
    """The order of the axes that remain, numbered anew."""
    ascending = sorted(order)
    return tuple(ascending.index(axis) for axis in order)


def reduces_nothing(node: Node) -> bool:
    """Whether no axes are named and that means none."""
    given = node.integers(1, "axes") if node.has_input(1) else node.raw.attributes.get("axes", ())
    return node.integer("noop_with_empty_axes", 0) != 0 and given == ()


def reduced_axes(node: Node, rank: int) -> tuple[int, ...]:
    """Axes: an input in newer opsets, an attribute before; all where none are named."""
    given = node.integers(1, "axes") if node.has_input(1) else ()
    if not node.has_input(1) and "axes" in node.raw.attributes:
        given = node.integer_list("axes")
    return node.axes_of(given, rank) if given else tuple(range(rank))


def reduced_shape(node: Node, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """That of a result, with or without the axes that are reduced."""
    if node.integer("keepdims", 1):
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


READERS: Readers = {**dict.fromkeys(_SUMS, read_sum), **dict.fromkeys(_EXTREMES, read_extreme)}
