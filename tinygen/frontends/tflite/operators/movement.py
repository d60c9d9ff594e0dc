"""Operators that only move elements: padding, joining, transposing, gathering."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.stored import as_stored
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.broadcast_to import BroadcastTo
from tinygen.ops.checks import check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.gather import Gather
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.pad import Mirror, MirrorPad, Pad
from tinygen.ops.quantize import dequantize_constant
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose
from tinygen.ops.unsigned_rescale import UnsignedRescale
from tinygen.ops.update_slice import UpdateSlice

_MOST_COPIES = 1 << 12
_MIRRORS = {tflite.MirrorPadMode.REFLECT: Mirror.REFLECT, tflite.MirrorPadMode.SYMMETRIC: Mirror.SYMMETRIC}


def read_pad(node: Node) -> Pad:
    """PAD: with the zero point, which stands for 0."""
    quant = node.input(0).type.quant
    return _pad(node, 0 if quant is None else node.input(0).type.zero_point)


def read_pad_v2(node: Node) -> tuple[Op, ...]:
    """PADV2: with a given value, stored as the input's elements are."""
    value, type = node.constant(2, "padding value"), node.input(0).type
    if value.size != 1 or node.input(2).type.dtype is not type.dtype:
        raise UnsupportedError(
            f"the padding value is {value.dtype}{list(value.shape)}, one element like the input's was expected"
        )
    if node.input(2).type.quant != type.quant:
        raise UnsupportedError("the padding value must have the input's quantization")
    pad = _pad(node, value.reshape(-1)[0].item())
    is_plain = type.dtype.is_real or type.dtype.bytes == 1 or not pad.value
    return (pad,) if is_plain else _padded_with(node, pad, replace(node.input(2), type=replace(type, shape=())))


def _padded_with(node: Node, pad: Pad, value: Tensor) -> tuple[Op, ...]:
    """The value everywhere, then the input within, where kernels pad with zeros only."""
    check_shape("output", pad.output, tuple(map(sum, zip(pad.before, pad.input.shape, pad.after, strict=True))))
    ground = node.intermediate(pad.output, "ground", pad.output.shape)
    assert value.data is not None
    start_type = TensorType(DType.INT32, (len(pad.before),))
    start = Tensor(f"{node.name}:start", start_type, np.array(pad.before, np.int32))
    return (
        BroadcastTo(
            name=ground.name, source=node.source, input=replace(value, data=value.data.reshape(())), output=ground
        ),
        UpdateSlice(name=node.name, source=node.source, input=ground, update=pad.input, start=start, output=pad.output),
    )


def read_mirror_pad(node: Node) -> MirrorPad:
    """MIRROR_PAD."""
    mode = node.options(tflite.MirrorPadOptions).Mode()
    if mode not in _MIRRORS:
        raise UnsupportedError(f"mode {mode} is neither REFLECT nor SYMMETRIC")
    before, after = paddings(node)
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
    """CONCATENATION; uint8 inputs may have quantizations of their own; also a new row of a list, in loops."""
    if node.row_update is not None:
        return (read_dynamic_update_slice(node),)
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
    return Gather(
        name=node.name,
        source=node.source,
        input=node.input(0),
        indices=_int32_indices(node.input(1)),
        output=node.output(),
        axis=axis_index(options.Axis(), len(node.input(0).shape)),
        batch_dims=batch_axes(node),
    )


def batch_axes(node: Node) -> int:
    """How many axes of a GATHER's indices are batches."""
    given: int = node.options(tflite.GatherOptions).BatchDims()
    return given if given >= 0 else given + len(node.input(1).shape)


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


def read_tile(node: Node) -> tuple[Op, ...]:
    """TILE: a concatenation of the input with itself, axis by axis."""
    input, output = node.input(0), node.output()
    multiples = node.integers(1, "multiples")
    if len(multiples) != len(input.shape) or any(count < 1 for count in multiples):
        raise UnsupportedError(f"multiples are {list(multiples)}, one above 0 for each axis was expected")
    return _repeated(node, input, output, multiples)


def read_broadcast_to(node: Node) -> BroadcastTo:
    """BROADCAST_TO: axes of size 1 are repeated."""
    return BroadcastTo(name=node.name, source=node.source, input=node.input(0), output=node.output())


def read_dynamic_update_slice(node: Node) -> UpdateSlice:
    """DYNAMIC_UPDATE_SLICE."""
    return UpdateSlice(
        name=node.name,
        source=node.source,
        input=node.input(0),
        update=node.input(1),
        start=node.input(2),
        output=node.output(),
    )


def read_reverse(node: Node) -> Slice:
    """REVERSE_V2: a slice with negative strides."""
    input = node.input(0)
    rank = len(input.shape)
    axes = {axis_index(axis, rank) for axis in node.integers(1, "axes")}
    return Slice(
        name=node.name,
        source=node.source,
        input=input,
        output=node.output(),
        begin=tuple(size - 1 if axis in axes else 0 for axis, size in enumerate(input.shape)),
        strides=tuple(-1 if axis in axes else 1 for axis in range(rank)),
    )


def read_gather_nd(node: Node) -> tuple[Op, ...]:
    """GATHER_ND: along one axis that stands for all that the indices are about."""
    input, output, indices = node.input(0), node.output(), node.input(1)
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= len(input.shape) or 0 in indices.shape:
        raise UnsupportedError(f"indices {list(indices.shape)} do not fit {len(input.shape)} dimensions")
    sizes = input.shape[:depth]
    seen = node.intermediate(output, "flat", (prod(sizes), *input.shape[depth:]))
    reshape = Reshape(name=seen.name, source=node.source, input=input, output=seen)
    flattening, chosen = _flat_indices(node, indices, sizes)
    gather = Gather(name=node.name, source=node.source, input=seen, indices=chosen, output=output, axis=0, batch_dims=0)
    return *flattening, reshape, gather


def _flat_indices(node: Node, indices: Tensor, sizes: tuple[int, ...]) -> tuple[tuple[Op, ...], Tensor]:
    """Positions along one axis in place of those along several axes of `sizes`; those that are computed by products."""
    type, shape = TensorType(DType.INT32, indices.shape[:-1]), indices.shape[:-1]
    if indices.data is not None:
        data = indices.data.astype(np.int64)
        if (data < 0).any() or (data >= np.array(sizes)).any():
            raise UnsupportedError(f"indices reach outside of {list(sizes)}")
        flat = np.ravel_multi_index(tuple(np.moveaxis(data, -1, 0)), sizes).astype(np.int32)
        return (), Tensor(f"{node.name}:indices", type, np.asarray(flat))
    if indices.type.dtype is not DType.INT32:
        raise UnsupportedError(f"indices '{indices.name}' are {indices.type.dtype.value}, computed i32 was expected")
    ops: list[Op] = []
    total: Tensor | None = None
    for axis in range(len(sizes)):
        part = node.typed_intermediate(f"index{axis}", replace(type, shape=(*shape, 1)))
        begin, strides = (*(0 for _ in shape), axis), (1,) * len(indices.shape)
        ops.append(Slice(name=part.name, source=node.source, input=indices, output=part, begin=begin, strides=strides))
        if total is None:
            total = part
            continue
        total = _arithmetic(node, ops, IntegerFunction.MUL, total, _number(part, sizes[axis]), f"rows{axis}")
        total = _arithmetic(node, ops, IntegerFunction.ADD, total, part, f"place{axis}")
    assert total is not None
    chosen = node.typed_intermediate("indices", type)
    ops.append(Reshape(name=chosen.name, source=node.source, input=total, output=chosen))
    return tuple(ops), chosen


def _number(like: Tensor, value: int) -> Tensor:
    """A constant of the same element type."""
    return Tensor(f"{like.name}:size", replace(like.type, shape=(1,)), np.array([value], np.int32))


def _arithmetic(
    node: Node, ops: list[Op], function: IntegerFunction, first: Tensor, second: Tensor, role: str
) -> Tensor:
    result = node.typed_intermediate(role, first.type)
    ops.append(
        IntegerArithmetic(
            name=result.name,
            source=node.source,
            first=first,
            second=second,
            output=result,
            function=function,
            limits=Clamp.none(result.type),
        )
    )
    return result


def read_embedding_lookup(node: Node) -> Gather:
    """EMBEDDING_LOOKUP: rows of a table; of an int8 table of a float32 result the numbers that it stands for."""
    ids, table, output = node.input(0), node.input(1), node.output()
    if table.data is not None and table.type.quant is not None and output.type.dtype.is_real:
        real = node.intermediate(output, "table", table.shape)
        table = replace(real, data=dequantize_constant(table.data, table.type.quant))
    return Gather(
        name=node.name,
        source=node.source,
        input=table,
        indices=_int32_indices(ids),
        output=output,
        axis=0,
        batch_dims=0,
    )


def read_space_to_batch(node: Node) -> tuple[Op, ...]:
    """SPACE_TO_BATCH_ND: pads, then pixels of a block become images."""
    input, output = node.input(0), node.output()
    block, (before, after) = block_and_edges(node)
    rank, spatial = len(input.shape), len(block)
    rest = (0,) * (rank - 1 - spatial)
    padded = node.intermediate(
        output,
        "padded",
        tuple(map(sum, zip(input.shape, (0, *before, *rest), (0, *after, *rest), strict=True))),
    )
    if any(size % step for size, step in zip(padded.shape[1:], block, strict=False)):
        raise UnsupportedError(f"{list(padded.shape)} does not divide into blocks of {list(block)}")
    quant = input.type.quant
    pad = Pad(
        name=padded.name,
        source=node.source,
        input=input,
        output=padded,
        before=(0, *before, *rest),
        after=(0, *after, *rest),
        value=0 if quant is None else input.type.zero_point,
    )
    split = [n for size, step in zip(padded.shape[1:], block, strict=False) for n in (size // step, step)]
    shape = (input.shape[0], *split, *input.shape[1 + spatial :])
    inner = tuple(2 + 2 * axis for axis in range(spatial))
    outer = tuple(1 + 2 * axis for axis in range(spatial))
    order = (*inner, 0, *outer, *range(1 + 2 * spatial, len(shape)))
    return pad, *_regrouped(node, padded, shape, order, output)


def read_batch_to_space(node: Node) -> tuple[Op, ...]:
    """BATCH_TO_SPACE_ND: images become pixels of a block, then a slice."""
    input, output = node.input(0), node.output()
    block, (before, after) = block_and_edges(node)
    spatial, batch = len(block), prod(block)
    if input.shape[0] % batch:
        raise UnsupportedError(f"{input.shape[0]} images are no multiple of a block of {list(block)}")
    shape = (*block, input.shape[0] // batch, *input.shape[1:])
    pairs = tuple(axis for at in range(spatial) for axis in (spatial + 1 + at, at))
    order = (spatial, *pairs, *range(2 * spatial + 1, len(shape)))
    sizes = tuple(size * step for size, step in zip(input.shape[1:], block, strict=False))
    whole = node.intermediate(output, "whole", (shape[spatial], *sizes, *input.shape[1 + spatial :]))
    rest = len(whole.shape) - 1 - spatial
    cropped = tuple(size - low - high for size, low, high in zip(sizes, before, after, strict=True))
    if (shape[spatial], *cropped, *whole.shape[1 + spatial :]) != output.shape:
        raise UnsupportedError(f"crops {list(before)} and {list(after)} do not leave {list(output.shape)}")
    begin = (0, *before, *(0,) * rest)
    strides = (1,) * len(begin)
    crop = Slice(name=node.name, source=node.source, input=whole, output=output, begin=begin, strides=strides)
    return *_regrouped(node, input, shape, order, whole), crop


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


def _repeated(node: Node, input: Tensor, output: Tensor, multiples: Sequence[int]) -> tuple[Op, ...]:
    """Concatenations of a tensor with itself; a reshape where nothing is repeated."""
    if max(multiples, default=1) > _MOST_COPIES:
        raise UnsupportedError(f"repeats an axis {max(multiples)} times, at most {_MOST_COPIES} were expected")
    axes = [axis for axis, count in enumerate(multiples) if count > 1]
    if not axes:
        return (Reshape(name=node.name, source=node.source, input=input, output=output),)
    ops: list[Op] = []
    for axis in axes:
        shape = tuple(size * (multiples[axis] if at == axis else 1) for at, size in enumerate(input.shape))
        result = output if axis == axes[-1] else node.intermediate(output, f"axis{axis}", shape)
        parts = (input,) * multiples[axis]
        ops.append(Concat(name=result.name, source=node.source, inputs=parts, output=result, axis=axis))
        input = result
    return tuple(ops)


def _regrouped(
    node: Node, input: Tensor, shape: tuple[int, ...], order: tuple[int, ...], output: Tensor
) -> tuple[Op, ...]:
    """The input in another shape, its axes in another order, in the output's shape."""
    split = node.intermediate(output, "split", shape)
    turned = node.intermediate(output, "turned", tuple(shape[axis] for axis in order))
    return (
        Reshape(name=split.name, source=node.source, input=input, output=split),
        Transpose(name=turned.name, source=node.source, input=split, output=turned, permutation=order),
        Reshape(name=output.name, source=node.source, input=turned, output=output),
    )


def block_and_edges(node: Node) -> tuple[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]:
    """The block's sizes, and what is added or taken off before and behind each of its axes."""
    input = node.input(0)
    block, edges = node.integers(1, "block shape"), node.integers(2, "paddings or crops")
    fits = len(edges) == 2 * len(block) and len(input.shape) > len(block) > 0
    if not fits or min(block) < 1 or min(edges) < 0:
        raise UnsupportedError(f"blocks of {list(block)} with edges {list(edges)} do not fit {list(input.shape)}")
    return block, (edges[0::2], edges[1::2])


def _with_axis(node: Node, input: Tensor, axis: int, number: int) -> Reshape:
    shape = (*input.shape[:axis], 1, *input.shape[axis:])
    part = node.intermediate(node.output(), f"part{number}", shape)
    return Reshape(name=part.name, source=node.source, input=input, output=part)


def _pad(node: Node, value: float) -> Pad:
    before, after = paddings(node)
    return Pad(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        before=before,
        after=after,
        value=value,
    )


def paddings(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What is added before and behind each axis."""
    numbers = node.integers(1, "padding")
    if len(numbers) % 2:
        raise UnsupportedError(f"{len(numbers)} padding numbers, two for each axis were expected")
    return numbers[0::2], numbers[1::2]


READERS: Readers = as_stored(
    {
        "BATCH_TO_SPACE_ND": read_batch_to_space,
        "BROADCAST_TO": read_broadcast_to,
        "CONCATENATION": read_concatenation,
        "DEPTH_TO_SPACE": read_depth_to_space,
        "DYNAMIC_UPDATE_SLICE": read_dynamic_update_slice,
        "EMBEDDING_LOOKUP": read_embedding_lookup,
        "GATHER": read_gather,
        "GATHER_ND": read_gather_nd,
        "MIRROR_PAD": read_mirror_pad,
        "PACK": read_pack,
        "PAD": read_pad,
        "PADV2": read_pad_v2,
        "REVERSE_V2": read_reverse,
        "SPACE_TO_BATCH_ND": read_space_to_batch,
        "SPACE_TO_DEPTH": read_space_to_depth,
        "TILE": read_tile,
        "TRANSPOSE": read_transpose,
    },
    {
        "BROADCAST_TO": 0,
        "DEPTH_TO_SPACE": 0,
        "GATHER": 0,
        "GATHER_ND": 0,
        "REVERSE_V2": 0,
        "SPACE_TO_DEPTH": 0,
        "TILE": 0,
        "TRANSPOSE": 0,
    },
)
