"""Padding: with a value, mirrored, with what stands at the edge or at the other end; negative widths cut off."""

from collections.abc import Sequence

import numpy as np

from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import elementwise, movement, shape
from tinygen.frontends.onnx.operators.function import scalar
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Placed, Real, Value
from tinygen.ops.pad import Mirror, MirrorPad, Pad
from tinygen.ops.quantize import quantize

_MIRRORS = {"reflect": Mirror.REFLECT}
_EDGE, _WRAP = "edge", "wrap"
_MODES = ("constant", *_MIRRORS, _EDGE, _WRAP)
_MAX_PAD = 1 << 20
_PRIMITIVES: Readers = {**elementwise.READERS, **movement.READERS, **shape.READERS}

Widths = tuple[tuple[int, int], ...]  # before and behind, for each axis


def read_pad(node: Node) -> Value:
    """Pad: constant widths, negative ones cut off; with one value, reflected, the edge repeated or wrapped around."""
    own, mode = node.shape(0), node.text("mode", "constant")
    if mode not in _MODES:
        raise UnsupportedError(f"mode is '{mode}', one of {', '.join(_MODES)} was expected")
    widths = _widths(node, len(own))
    kept = tuple(max(0, size + min(0, first) + min(0, last)) for size, (first, last) in zip(own, widths, strict=True))
    if 0 in kept:
        raise UnsupportedError(f"widths {[list(pair) for pair in widths]} leave nothing of shape {list(own)}")
    padding = tuple((max(0, first), max(0, last)) for first, last in widths)
    if kept == own and mode not in (_EDGE, _WRAP):
        return _padded(node, node.real(0), padding, mode)
    parts, x = Composition(node, _PRIMITIVES), node.raw.inputs[0]
    if kept != own:
        begin = [max(0, -first) for first, _ in widths]
        end = [first + size for first, size in zip(begin, kept, strict=True)]
        x = parts.apply("Slice", x, parts.integers(*begin), parts.integers(*end))
    if mode in (_EDGE, _WRAP):
        for axis, pair in enumerate(padding):
            x = _continued(parts, x, axis, pair, mode)
        return parts.value(x)
    cut = node.with_inputs((x, *node.raw.inputs[1:]), {**node.values, x: parts.value(x)})
    return _padded(node, cut.real(0), padding, mode)


def _widths(node: Node, rank: int) -> Widths:
    """An input since opset 11, for some axes since 18; an attribute before."""
    numbers = node.integer_list("pads") if node.opset < 11 else node.integers(1, "pads")
    axes = node.integers(3, "axes") if node.has_input(3) else tuple(range(rank))
    node.axes_of(axes, rank)
    if len(numbers) != 2 * len(axes) or not all(-_MAX_PAD <= width <= _MAX_PAD for width in numbers):
        raise UnsupportedError(
            f"pads are {list(numbers)}, {2 * len(axes)} numbers between -{_MAX_PAD} and {_MAX_PAD} were expected"
        )
    pairs = dict(zip((axis % rank for axis in axes), zip(numbers, numbers[len(axes) :], strict=False), strict=True))
    return tuple(pairs.get(axis, (0, 0)) for axis in range(rank))


def _padded(node: Node, input: Real, widths: Widths, mode: str) -> Real:
    before, after = (tuple(pair[end] for pair in widths) for end in range(2))
    value = node.number("value", 0.0) if node.opset < 11 else 0.0
    if any(map(any, widths)) and mode == "constant" and node.opset >= 11 and node.has_input(2):
        value = scalar(node, 2, "padding")
    shape = tuple(sum(sizes) for sizes in zip(before, input.shape, after, strict=True))

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        tensor, order = inputs[0].tensor, inputs[0].order
        output = node.builder.result(name, tuple(shape[axis] for axis in order), quant)
        ends = tuple(tuple(widths[axis] for axis in order) for widths in (before, after))
        if mode in _MIRRORS:
            mirrored = MirrorPad(
                name=name,
                source=node.source,
                input=tensor,
                output=output,
                before=ends[0],
                after=ends[1],
                mirror=_MIRRORS[mode],
            )
            return node.emit(mirrored, order)
        stored = value if quant is None else int(quantize(np.array(value, np.float32), output.type))
        op = Pad(
            name=name, source=node.source, input=tensor, output=output, before=ends[0], after=ends[1], value=stored
        )
        return node.emit(op, order)

    return node.kept((input,), shape, make)


def _continued(parts: Composition, x: str, axis: int, pair: tuple[int, int], mode: str) -> str:
    """Padded along one axis: with its first and last elements, or as if it began again."""
    size = parts.shape(x)[axis]
    if mode == _EDGE:
        ends = [_repeated(parts, x, axis, place, count) for place, count in zip((0, size - 1), pair, strict=True)]
        return _joined(parts, [ends[0], x, ends[1]], axis)
    turns, rest = zip(*(divmod(width, size) for width in pair), strict=True)
    last, first = _some(parts, x, axis, size - rest[0], size), _some(parts, x, axis, 0, rest[1])
    whole = parts.repeated(x, axis, turns[0] + 1 + turns[1]) if any(turns) else x
    return _joined(parts, [last, whole, first], axis)


def _some(parts: Composition, x: str, axis: int, begin: int, end: int) -> str | None:
    """Elements along an axis; None where there are none."""
    limits = (parts.integers(begin), parts.integers(end), parts.integers(axis))
    return parts.apply("Slice", x, *limits) if begin < end else None


def _repeated(parts: Composition, x: str, axis: int, place: int, count: int) -> str | None:
    """One element along an axis, so often; None where that is not once."""
    found = _some(parts, x, axis, place, place + 1) if count else None
    shape = (count if n == axis else size for n, size in enumerate(parts.shape(x)))
    return None if found is None else parts.apply("Expand", found, parts.integers(*shape))


def _joined(parts: Composition, tensors: Sequence[str | None], axis: int) -> str:
    found = [tensor for tensor in tensors if tensor is not None]
    return parts.apply("Concat", *found, axis=axis) if len(found) > 1 else found[0]


READERS: Readers = {"Pad": with_stored(read_pad)}
