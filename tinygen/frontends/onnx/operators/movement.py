"""Operators that move elements: concatenation, slices, selection."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Form, Known, Placed, Real, Value
from tinygen.ir.tensor import Tensor
from tinygen.ops.concat import Concat
from tinygen.ops.gather import Gather
from tinygen.ops.slice import Slice


def read_concat(node: Node) -> Real:
    """Concat: inputs of other scales are rescaled to the result's, those without elements left out."""
    positions = range(node.input_count)
    filled = [position for position in positions if 0 not in node.shape(position)]
    inputs = tuple(node.real(position) for position in filled or positions)
    shapes = [value.shape for value in inputs]
    rank = len(shapes[0])
    axis = node.axis(node.integer("axis", 0), rank)
    if any(len(s) != rank or (*s[:axis], *s[axis + 1 :]) != _without(shapes[0], axis) for s in shapes):
        raise UnsupportedError(f"shapes {[list(s) for s in shapes]} do not fit each other along axis {axis}")
    shape = (*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])

    def make(placed: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        order = next((p.order for p in placed if not p.tensor.is_constant), placed[0].order)
        output = node.builder.result(name, tuple(shape[a] for a in order), quant)
        tensors = tuple(node.builder.arranged(p, order) for p in placed)
        op = Concat(name=name, source=node.source, inputs=tensors, output=output, axis=order.index(axis))
        return node.emit(op, order)

    return node.kept(inputs, shape, make)


def read_slice(node: Node) -> Real:
    """Slice: constant limits, any steps."""
    input = node.real(0)
    rank = len(input.shape)
    starts, ends, axes, steps = _limits(node)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise UnsupportedError(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes, {len(steps)} steps")
    node.axes_of(axes, rank)
    begin, strides, shape = [0] * rank, [1] * rank, list(input.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise UnsupportedError(f"the step along axis {axis} is 0, another number was expected")
        taken = range(input.shape[axis])[start:end:step]
        begin[axis], strides[axis], shape[axis] = taken.start, step, len(taken)
    return _slice(node, input, tuple(begin), tuple(strides), tuple(shape))


def _limits(node: Node) -> tuple[tuple[int, ...], ...]:
    """Starts, ends, axes and steps: inputs since opset 10, attributes before."""
    if node.opset < 10 and not node.has_input(1):
        starts, ends = node.integer_list("starts"), node.integer_list("ends")
        axes = node.integer_list("axes") if "axes" in node.raw.attributes else tuple(range(len(starts)))
        return starts, ends, axes, (1,) * len(starts)
    starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
    axes = node.integers(3, "axes") if node.has_input(3) else tuple(range(len(starts)))
    return starts, ends, axes, node.integers(4, "steps") if node.has_input(4) else (1,) * len(starts)


def read_split(node: Node) -> tuple[Value, ...]:
    """Split: into constant or equal parts, of which some may have no elements."""
    input = node.real(0)
    axis = node.axis(node.integer("axis", 0), len(input.shape))
    begin = [0] * len(input.shape)
    parts: list[Value] = []
    for number, size in enumerate(_split_sizes(node, input.shape[axis])):
        shape = (*input.shape[:axis], size, *input.shape[axis + 1 :])
        part = _slice(node, input, tuple(begin), (1,) * len(shape), shape, number) if size else _empty(shape)
        parts.append(part)
        begin[axis] += size
    return tuple(parts)


def read_gather(node: Node) -> Real:
    """Gather: with constant indices, or those that are known at run time, none of them negative."""
    input = node.real(0)
    axis = node.axis(node.integer("axis", 0), len(input.shape))
    chosen = node.value(1)
    if isinstance(chosen, Discrete):
        return _gather(node, input, axis, node.builder.plain(chosen.placed))
    numbers = node.integers(1, "indices")
    size = input.shape[axis]
    if not numbers or min(numbers) < -size or max(numbers) >= size:
        raise UnsupportedError(f"indices are {list(numbers[:10])}, numbers within axis {axis} ({size}) were expected")
    wrapped = [number % size for number in numbers]
    indices = np.array(wrapped, np.int32).reshape(node.constant(1, "indices").shape)
    return _gather(node, input, axis, node.builder.constant(node.builder.derive(node.output_name, "indices"), indices))


def _gather(node: Node, input: Real, axis: int, indices: Tensor) -> Real:
    shape = (*input.shape[:axis], *indices.shape, *input.shape[axis + 1 :])

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        op = Gather(
            name=name,
            source=node.source,
            input=node.builder.plain(inputs[0]),
            indices=indices,
            output=node.builder.result(name, shape, quant),
            axis=axis,
            batch_dims=0,
        )
        return node.emit(op, tuple(range(len(shape))))

    return node.kept((input,), shape, make)


def _slice(
    node: Node,
    input: Real,
    begin: tuple[int, ...],
    strides: tuple[int, ...],
    shape: tuple[int, ...],
    output: int = 0,
) -> Real:
    if 0 in shape:
        raise UnsupportedError(f"the result has shape {list(shape)}, at least one element was expected")
    if shape == input.shape and all(stride == 1 for stride in strides):
        return input

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        order = inputs[0].order
        op = Slice(
            name=name,
            source=node.source,
            input=inputs[0].tensor,
            output=node.builder.result(name, tuple(shape[axis] for axis in order), quant),
            begin=tuple(begin[axis] for axis in order),
            strides=tuple(strides[axis] for axis in order),
        )
        return node.emit(op, order)

    return node.kept((input,), shape, make, node.raw.outputs[output])


def _split_sizes(node: Node, size: int) -> tuple[int, ...]:
    """Sizes along the axis: an input since opset 13, an attribute before, else equal ones (the last smaller)."""
    count = len(node.raw.outputs)
    if node.has_input(1):
        sizes = node.integers(1, "split")
    elif "split" in node.raw.attributes:
        sizes = node.integer_list("split")
    else:
        part = -(-size // max(count, 1))
        sizes = tuple(min(part, size - part * number) for number in range(count))
    if len(sizes) != count or any(part < 0 for part in sizes) or sum(sizes) != size:
        raise UnsupportedError(f"{size} elements in parts of {list(sizes)}, {count} parts that fill them were expected")
    return sizes


def _empty(shape: tuple[int, ...]) -> Known:
    return Known(np.empty(shape, np.float32))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


READERS: Readers = {
    "Concat": read_concat,
    "Gather": with_stored(read_gather),
    "Slice": with_stored(read_slice),
    "Split": with_stored(read_split),
}
