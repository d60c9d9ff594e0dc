"""Operators that only move elements: padding, joining, transposing, gathering."""

import numpy as np
import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.concat import Concat
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.gather import Gather
from tinygen.ops.pad import Mirror, MirrorPad, Pad
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose
from tinygen.ops.unsigned_rescale import UnsignedRescale

_MIRRORS = {tflite.MirrorPadMode.REFLECT: Mirror.REFLECT, tflite.MirrorPadMode.SYMMETRIC: Mirror.SYMMETRIC}


def read_pad(node: Node) -> Pad:
    """PAD: with the zero point, which stands for 0."""
    quant = node.input(0).type.quant
    return _pad(node, 0 if quant is None else node.input(0).type.zero_point)


def read_pad_v2(node: Node) -> Pad:
    """PADV2: with a given value, stored as the input's elements are."""
    value = node.constant(2, "padding value")
    if value.size != 1 or node.input(2).type.dtype is not node.input(0).type.dtype:
        raise UnsupportedError(
            f"the padding value is {value.dtype}{list(value.shape)}, one element like the input's was expected"
        )
    if node.input(2).type.quant != node.input(0).type.quant:
        raise UnsupportedError("the padding value must have the input's quantization")
    return _pad(node, value.reshape(-1)[0].item())


def read_mirror_pad(node: Node) -> MirrorPad:
    """MIRROR_PAD."""
    mode = node.options(tflite.MirrorPadOptions).Mode()
    if mode not in _MIRRORS:
        raise UnsupportedError(f"mode {mode} is neither REFLECT nor SYMMETRIC")
    before, after = _paddings(node)
    return MirrorPad(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        before=before,
        after=after,
        mirror=_MIRRORS[mode],
    )


def read_concatenation(node: Node) -> tuple[Op, ...]:
    """CONCATENATION; uint8 inputs may have quantizations of their own."""
    options = node.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise UnsupportedError(f"fused activation {options.FusedActivationFunction()}, none was expected")
    output = node.output()
    inputs = [node.input(position) for position in range(node.input_count)]
    rescales = {
        number: _rescaled(node, input, number)
        for number, input in enumerate(inputs)
        if node.is_unsigned and input.type.quant != output.type.quant
    }
    concat = Concat(
        name=node.name,
        source=node.source,
        inputs=tuple(rescales[number].output if number in rescales else input for number, input in enumerate(inputs)),
        output=output,
        axis=axis_index(options.Axis(), len(output.shape)),
    )
    return (*rescales.values(), concat)


def read_pack(node: Node) -> tuple[Op, ...]:
    """PACK: a concatenation of the inputs with one more axis of size 1."""
    output = node.output()
    axis = axis_index(node.options(tflite.PackOptions).Axis(), len(output.shape))
    inputs = [node.input(position) for position in range(node.input_count)]
    reshapes = [_with_axis(node, operand, axis, number) for number, operand in enumerate(inputs)]
    parts = tuple(reshape.output for reshape in reshapes)
    return (*reshapes, Concat(name=node.name, source=node.source, inputs=parts, output=output, axis=axis))


def read_transpose(node: Node) -> Transpose:
    """TRANSPOSE."""
    rank = len(node.input(0).shape)
    permutation = tuple(axis_index(axis, rank) for axis in node.integers(1, "permutation"))
    return Transpose(
        name=node.name, source=node.source, input=node.input(0), output=node.output(), permutation=permutation
    )


def read_gather(node: Node) -> Gather:
    """GATHER."""
    options = node.options(tflite.GatherOptions)
    batch_dims = options.BatchDims()
    return Gather(
        name=node.name,
        source=node.source,
        input=node.input(0),
        indices=_int32_indices(node.input(1)),
        output=node.output(),
        axis=axis_index(options.Axis(), len(node.input(0).shape)),
        batch_dims=batch_dims if batch_dims >= 0 else batch_dims + len(node.input(1).shape),
    )


def read_depth_to_space(node: Node) -> DepthToSpace:
    """DEPTH_TO_SPACE: channels [block, block, C] of a pixel become block * block pixels of C channels."""
    block = node.options(tflite.DepthToSpaceOptions).BlockSize()
    _, _, _, channels = _nhwc(node.input(0))
    if block < 1 or channels % (block * block):
        raise UnsupportedError(f"{channels} channels do not divide into blocks of {block} x {block}")
    return DepthToSpace(name=node.name, source=node.source, input=node.input(0), output=node.output(), block=block)


def read_space_to_depth(node: Node) -> SpaceToDepth:
    """SPACE_TO_DEPTH: block * block pixels of C channels become the channels [block, block, C] of one."""
    block = node.options(tflite.SpaceToDepthOptions).BlockSize()
    _, height, width, _ = _nhwc(node.input(0))
    if block < 1 or height % block or width % block:
        raise UnsupportedError(f"{height} x {width} pixels do not divide into blocks of {block} x {block}")
    return SpaceToDepth(name=node.name, source=node.source, input=node.input(0), output=node.output(), block=block)


def axis_index(axis: int, rank: int) -> int:
    """An axis counted from the start."""
    if not -rank <= axis < rank:
        raise UnsupportedError(f"axis {axis} of {rank} dimensions")
    return axis % rank


def _int32_indices(indices: Tensor) -> Tensor:
    """Constant int64 indices as int32; those out of range stay so."""
    if indices.data is None or indices.type.dtype is not DType.INT64:
        return indices
    data = indices.data.clip(DType.INT32.min, DType.INT32.max).astype(np.int32)
    return Tensor(indices.name, TensorType(DType.INT32, indices.shape), data)


def _nhwc(tensor: Tensor) -> tuple[int, int, int, int]:
    if len(tensor.shape) != 4:
        raise UnsupportedError(f"input '{tensor.name}' has shape {list(tensor.shape)}, 4 dimensions were expected")
    batch, height, width, channels = tensor.shape
    return batch, height, width, channels


def _rescaled(node: Node, input: Tensor, number: int) -> UnsignedRescale:
    part = node.intermediate(node.output(), f"part{number}", input.shape)
    return UnsignedRescale(name=part.name, source=node.source, input=input, output=part)


def _with_axis(node: Node, input: Tensor, axis: int, number: int) -> Reshape:
    shape = (*input.shape[:axis], 1, *input.shape[axis:])
    part = node.intermediate(node.output(), f"part{number}", shape)
    return Reshape(name=part.name, source=node.source, input=input, output=part)


def _pad(node: Node, value: float) -> Pad:
    before, after = _paddings(node)
    return Pad(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        before=before,
        after=after,
        value=value,
    )


def _paddings(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    numbers = node.integers(1, "padding")
    if len(numbers) % 2:
        raise UnsupportedError(f"{len(numbers)} padding numbers, two for each axis were expected")
    return numbers[0::2], numbers[1::2]


READERS: Readers = {
    "CONCATENATION": read_concatenation,
    "DEPTH_TO_SPACE": read_depth_to_space,
    "GATHER": read_gather,
    "MIRROR_PAD": read_mirror_pad,
    "PACK": read_pack,
    "PAD": read_pad,
    "PADV2": read_pad_v2,
    "SPACE_TO_DEPTH": read_space_to_depth,
    "TRANSPOSE": read_transpose,
}
