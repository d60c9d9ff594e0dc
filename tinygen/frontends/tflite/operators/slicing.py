"""Operators that cut tensors into parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.movement import axis_index
from tinygen.frontends.tflite.operators.stored import as_stored
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice


def read_slice(node: Node) -> Slice:
    """SLICE; size -1 takes all that follows."""
    output, sizes = node.output(), sliced_shape(node)
    if sizes != output.shape:
        raise UnsupportedError(f"the slice has shape {list(sizes)}, the output {list(output.shape)}")
    return _slice(node, node.input(0), output, node.integers(1, "begin"))


def sliced_shape(node: Node) -> tuple[int, ...]:
    """The shape of a SLICE; size -1 takes all that follows."""
    whole = node.input(0)
    begin, size = node.integers(1, "begin"), node.integers(2, "size")
    if len(begin) != len(whole.shape) or len(size) != len(whole.shape):
        raise UnsupportedError(f"begin {list(begin)} and size {list(size)} do not fit {len(whole.shape)} dimensions")
    return tuple(
        extent - start if taken == -1 else taken for extent, start, taken in zip(whole.shape, begin, size, strict=True)
    )


def read_split(node: Node) -> tuple[Op, ...]:
    """SPLIT into equal parts."""
    return _split(node, node.input(1), _axis(node, 0, node.input(1)))


def read_split_v(node: Node) -> tuple[Op, ...]:
    """SPLIT_V; the sizes are those of the outputs."""
    return _split(node, node.input(0), _axis(node, 2, node.input(0)))


def read_unpack(node: Node) -> tuple[Op, ...]:
    """UNPACK: slices of one along an axis, seen without it."""
    whole = node.input(0)
    axis = axis_index(node.options(tflite.UnpackOptions).Axis(), len(whole.shape))
    shape = (*whole.shape[:axis], 1, *whole.shape[axis + 1 :])
    if len(node.outputs) != whole.shape[axis]:
        raise UnsupportedError(f"{len(node.outputs)} outputs of {whole.shape[axis]} along axis {axis}")
    ops: list[Op] = []
    for position, output in enumerate(node.outputs):
        part = node.intermediate(output, "part", shape)
        ops += [_slice(node, whole, part, _along(whole, axis, position)), _reshape(node, part, output)]
    return tuple(ops)


def read_strided_slice(node: Node) -> tuple[Op, ...]:
    """STRIDED_SLICE, with all its masks."""
    whole, output = node.input(0), node.output()
    cuts, expected = cut_out(node)
    if expected != output.shape:
        raise UnsupportedError(f"the slice has shape {list(expected)}, the output {list(output.shape)}")
    sizes = tuple(len(cut.indices) for cut in cuts)
    if not all(sizes):
        raise UnsupportedError(f"the slice has shape {list(sizes)}, it must not be empty")
    begin, strides = tuple(cut.indices[0] for cut in cuts), tuple(cut.indices.step for cut in cuts)
    if sizes == output.shape:
        return (_slice(node, whole, output, begin, strides),)
    part = node.intermediate(output, "slice", sizes)
    return (_slice(node, whole, part, begin, strides), _reshape(node, part, output))


@dataclass(frozen=True)
class Cut:
    """What is taken along one axis of the input."""

    indices: range
    is_shrunk: bool = False  # the output lacks the axis


def cut_out(node: Node) -> tuple[list[Cut], tuple[int, ...]]:
    """The cut of each axis of a STRIDED_SLICE's input, and the output's shape, in which axes are missing or new."""
    options = node.options(tflite.StridedSliceOptions)
    shape = node.input(0).shape
    positions = [node.integers(at, role) for at, role in ((1, "begin"), (2, "end"), (3, "strides"))]
    specified = len(positions[0])
    if any(len(numbers) != specified for numbers in positions):
        raise UnsupportedError(
            f"begin, end and strides have {[len(numbers) for numbers in positions]} numbers, equally many were expected"
        )
    new_axes, ellipsis = options.NewAxisMask(), options.EllipsisMask()
    consumed = sum(not _bit(new_axes, at) and not _bit(ellipsis, at) for at in range(specified))
    cuts: list[Cut] = []
    expected: list[int] = []
    for at, (begin, end, stride) in enumerate(zip(*positions, strict=True)):
        if _bit(ellipsis, at):
            skipped = len(shape) - consumed
            expected += shape[len(cuts) : len(cuts) + skipped]
            cuts += [Cut(range(size)) for size in shape[len(cuts) : len(cuts) + max(skipped, 0)]]
        elif _bit(new_axes, at):
            expected.append(1)
        elif len(cuts) < len(shape):
            cut = _cut(options, at, begin, end, stride, shape[len(cuts)])
            cuts.append(cut)
            expected += [] if cut.is_shrunk else [len(cut.indices)]
        else:
            raise UnsupportedError(f"{specified} positions for {len(shape)} dimensions")
    expected += shape[len(cuts) :]
    cuts += [Cut(range(size)) for size in shape[len(cuts) :]]
    return cuts, tuple(expected)


def _cut(options: tflite.StridedSliceOptions, at: int, begin: int, end: int, stride: int, size: int) -> Cut:
    if stride == 0:
        raise UnsupportedError("stride 0, another number was expected")
    first = None if _bit(options.BeginMask(), at) else begin
    if _bit(options.ShrinkAxisMask(), at):
        index = axis_index(first or 0, size)
        return Cut(range(index, index + 1), is_shrunk=True)
    stop = begin + end if options.Offset() else end
    return Cut(range(*slice(first, None if _bit(options.EndMask(), at) else stop, stride).indices(size)))


def _bit(mask: int, position: int) -> bool:
    return bool(mask >> position & 1)


def _split(node: Node, input: Tensor, axis: int) -> tuple[Op, ...]:
    starts = [0]
    for output in node.outputs:
        if len(output.shape) != len(input.shape):
            raise UnsupportedError(
                f"part '{output.name}' has shape {list(output.shape)}, the input {list(input.shape)}"
            )
        starts.append(starts[-1] + output.shape[axis])
    if starts.pop() != input.shape[axis]:
        raise UnsupportedError(f"the parts do not add up to {input.shape[axis]} along axis {axis}")
    pairs = zip(node.outputs, starts, strict=True)
    return tuple(_slice(node, input, output, _along(input, axis, start)) for output, start in pairs)


def _axis(node: Node, position: int, input: Tensor) -> int:
    values = node.integers(position, "axis")
    if len(values) != 1:
        raise UnsupportedError(f"axis is {list(values)}, one number was expected")
    return axis_index(values[0], len(input.shape))


def _along(tensor: Tensor, axis: int, position: int) -> tuple[int, ...]:
    return tuple(position if at == axis else 0 for at in range(len(tensor.shape)))


def _slice(node: Node, input: Tensor, output: Tensor, begin: tuple[int, ...], strides: Sequence[int] = ()) -> Slice:
    return Slice(
        name=output.name,
        source=node.source,
        input=input,
        output=output,
        begin=begin,
        strides=tuple(strides) or (1,) * len(begin),
    )


def _reshape(node: Node, input: Tensor, output: Tensor) -> Reshape:
    return Reshape(name=output.name, source=node.source, input=input, output=output)


READERS: Readers = as_stored(
    {
        "SLICE": read_slice,
        "SPLIT": read_split,
        "SPLIT_V": read_split_v,
        "STRIDED_SLICE": read_strided_slice,
        "UNPACK": read_unpack,
    },
    {"SLICE": 0, "SPLIT": 1, "SPLIT_V": 0, "STRIDED_SLICE": 0},
)
