"""Sizes that a user gives to what a TFLite file leaves open, and the shapes behind: inferred anew by each operator."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import tflite

from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.tflite.activation import padding_mode
from tinygen.frontends.tflite.node import Node, UnsupportedError, open_axes
from tinygen.frontends.tflite.operators.convolution import window_padding
from tinygen.frontends.tflite.operators.movement import axis_index, batch_axes, block_and_edges, paddings
from tinygen.frontends.tflite.operators.placing import one_hot_shape
from tinygen.frontends.tflite.operators.reduction import reduced_axes
from tinygen.frontends.tflite.operators.shape import wanted_shape
from tinygen.frontends.tflite.operators.slicing import cut_out, sliced_shape
from tinygen.frontends.tflite.raw import RawSubgraph, RawTensor
from tinygen.frontends.tflite.tensors import MAX_ELEMENTS, MAX_RANK
from tinygen.ir.tensor import Tensor
from tinygen.ops.window import HW, UNIT, Padding, Window, padding_for

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]  # of all outputs


class UnknownSizeError(UnsupportedError):
    """The shape of a result does not follow from the inputs' shapes; neither do those behind it."""


def with_sizes(file: str, subgraph: RawSubgraph, shapes: Mapping[str, Shape]) -> RawSubgraph:
    """The subgraph with the shapes that the user gives to inputs, by name; UsageError where these do not fit."""
    inputs = {subgraph.tensors[index].name: index for index in subgraph.inputs}
    for name in shapes:
        if name not in inputs:
            known = ", ".join(f"'{other}'" for other in inputs)
            raise UsageError(f"--input-shape: {file} has no input '{name}', one of {known} was expected.")
    given = {inputs[name]: shape for name, shape in shapes.items()}
    tensors = (_sized(file, raw, given[raw.index]) if raw.index in given else raw for raw in subgraph.tensors)
    return replace(subgraph, tensors=tuple(tensors))


def _sized(file: str, raw: RawTensor, given: Shape) -> RawTensor:
    own = raw.shape_signature or raw.shape
    fits = len(own) == len(given) and all(size in (-1, new) for size, new in zip(own, given, strict=True))
    if not fits:
        text = ", ".join("?" if size < 0 else str(size) for size in own)
        raise UsageError(
            f"--input-shape: {list(given)} for input '{raw.name}' of {file}, [{text}] was expected, with numbers for ?."
        )
    if math.prod(given) > MAX_ELEMENTS:
        raise UsageError(
            f"--input-shape: {list(given)} for input '{raw.name}' of {file}, at most {MAX_ELEMENTS} elements were "
            "expected."
        )
    return replace(raw, shape=given, shape_signature=None)


def check_sizes(file: str, subgraph: RawSubgraph) -> None:
    """Raise UnsupportedModelError where an input leaves a size open, from which all other open sizes follow."""
    for raw in (subgraph.tensors[index] for index in subgraph.inputs):
        open_ones = open_axes(raw)
        if any(open_ones):
            raise UnsupportedModelError(
                f"{file}, input '{raw.name}': the size of axis {open_ones.index(True)} is open, a number was expected. "
                f"Give it with --input-shape {raw.name}=..., or convert the model with a fixed input shape."
            )


def fixed(raw: RawTensor) -> RawTensor:
    """A tensor whose open sizes are the stored ones, until `inferred` says better."""
    return replace(raw, shape_signature=None)


def inferred(node: Node, stored: RawSubgraph) -> dict[int, Tensor]:
    """An operator's results in the shapes that follow from its inputs; `stored` has the shapes of the file.

    Raises UnknownSizeError where a size is open, or an input has another shape than in the file, and no rule says what
    follows.
    """
    raw = node.raw
    if any(index not in node.tensors for index in (*raw.inputs, *raw.outputs) if index >= 0):
        return {}  # of a type that the IR does not have: for the reader to refuse
    rule = _RULES.get(raw.name)
    if rule is None:
        _check_unchanged(node, stored)
        return {}
    try:
        shapes = rule(node)
        if len(shapes) != len(raw.outputs):
            raise UnsupportedError(f"{len(raw.outputs)} outputs, {len(shapes)} were expected")
        for output, shape in zip(node.outputs, shapes, strict=True):
            _check_shape(output, shape)
    except ValueError as error:
        raise UnknownSizeError(f"{error} (by --input-shape)") from error
    results = zip(raw.outputs, node.outputs, shapes, strict=True)
    return {
        index: Tensor(output.name, replace(output.type, shape=shape), output.data) for index, output, shape in results
    }


def _check_unchanged(node: Node, stored: RawSubgraph) -> None:
    """Raise UnknownSizeError where the file's shapes do not hold: a result's is open, or an input's has changed."""
    for tensor in (stored.tensors[index] for index in node.raw.outputs):
        if any(open_axes(tensor)):
            raise _unknown(open_axes(tensor).index(True), tensor.name)
    for index in (index for index in node.raw.inputs if index >= 0):
        old, new = stored.tensors[index].shape, node.tensors[index].shape
        if old != new:
            axis = next((axis for axis, sizes in enumerate(zip(old, new, strict=False)) if len(set(sizes)) > 1), 0)
            raise _unknown(axis, node.tensors[index].name)


def _unknown(axis: int, tensor: str) -> UnknownSizeError:
    return UnknownSizeError(
        f"axis {axis} of tensor '{tensor}' has no fixed size in the file, and --input-shape is not followed through "
        "this operator, a fixed size was expected: convert the model with a fixed input shape, or end it before with "
        "--stop-at"
    )


def _check_shape(output: Tensor, shape: Shape) -> None:
    if len(shape) > MAX_RANK or math.prod(shape) > MAX_ELEMENTS:
        raise UnsupportedError(
            f"tensor '{output.name}' has shape {list(shape)}, at most {MAX_RANK} axes and {MAX_ELEMENTS} elements were "
            "expected"
        )
    if any(size < 1 for size in shape):
        axis = next(axis for axis, size in enumerate(shape) if size < 1)
        raise UnsupportedError(f"axis {axis} of tensor '{output.name}' has size {shape[axis]}, at least 1 was expected")


def _same(node: Node) -> Shapes:
    return (node.input(0).shape,)


def _broadcast(node: Node) -> Shapes:
    operands = [node.input(position).shape for position in range(node.input_count)]
    try:
        return (tuple(np.broadcast_shapes(*operands)),)
    except ValueError as error:
        raise _unfit(operands) from error


def _unfit(shapes: Sequence[Shape]) -> UnsupportedError:
    return UnsupportedError(f"inputs of {' and '.join(str(list(shape)) for shape in shapes)} do not fit")


def _window(node: Node, kernel: HW, stride: HW, dilation: HW, padding: Padding, channels: int) -> Shapes:
    batch, height, width, _ = node.input(0).shape
    size = Window(kernel, stride, dilation, padding).output_size(height, width)
    return ((batch, size.h, size.w, channels),)


def _conv2d(node: Node) -> Shapes:
    return _convolution(node, node.options(tflite.Conv2DOptions), 0)


def _depthwise_conv2d(node: Node) -> Shapes:
    return _convolution(node, node.options(tflite.DepthwiseConv2DOptions), 3)


def _convolution(node: Node, options: tflite.Conv2DOptions | tflite.DepthwiseConv2DOptions, axis: int) -> Shapes:
    stride = HW(options.StrideH(), options.StrideW())
    dilation = HW(options.DilationHFactor(), options.DilationWFactor())
    padding = window_padding(node, options.Padding(), stride, dilation)
    if node.dilated is not None:
        dilation, padding = node.dilated.dilation, node.dilated.padding
    weights = node.input(1).shape
    return _window(node, HW(*weights[1:3]), stride, dilation, padding, weights[axis])


def _pool(node: Node) -> Shapes:
    options, input = node.options(tflite.Pool2DOptions), node.input(0).shape
    kernel, stride = HW(options.FilterHeight(), options.FilterWidth()), HW(options.StrideH(), options.StrideW())
    if len(input) != 4 or min(stride.h, stride.w) < 1:
        raise UnsupportedError(f"input {list(input)} and stride {stride} do not form a pool")
    padding = padding_for(padding_mode(options.Padding()), HW(*input[1:3]), kernel, stride, UNIT)
    return _window(node, kernel, stride, UNIT, padding, input[3])


def _fully_connected(node: Node) -> Shapes:
    input, weights = node.input(0), node.input(1).shape
    if len(weights) != 2 or not weights[1] or input.type.elements % weights[1]:
        raise UnsupportedError(f"weights {list(weights)} do not fit an input of {list(input.shape)}")
    if node.options(tflite.FullyConnectedOptions).KeepNumDims():
        return ((*input.shape[:-1], weights[0]),)
    return ((input.type.elements // weights[1], weights[0]),)


def _batch_matmul(node: Node) -> Shapes:
    options, first, second = node.options(tflite.BatchMatMulOptions), node.input(0).shape, node.input(1).shape
    if min(len(first), len(second)) < 2:
        raise UnsupportedError(f"inputs of {list(first)} and {list(second)}, matrices were expected")
    rows, columns = first[-1 if options.AdjX() else -2], second[-2 if options.AdjY() else -1]
    return ((*np.broadcast_shapes(first[:-2], second[:-2]), rows, columns),)


def _reshape(node: Node) -> Shapes:
    wanted, elements = wanted_shape(node), node.input(0).type.elements
    if wanted is None:
        raise UnsupportedError("the new shape is that of the file, one that is computed was expected")
    if wanted == (0,):  # how old converters spell a scalar
        return ((),)
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) > 1 or (-1 in wanted and (known < 1 or elements % known)):
        raise UnsupportedError(f"the new shape is {list(wanted)}, which does not fit {elements} elements")
    shape = tuple(elements // known if size == -1 else size for size in wanted)
    if math.prod(shape) != elements:
        raise UnsupportedError(f"the new shape is {list(shape)}, which does not fit {elements} elements")
    return (shape,)


def _expand_dims(node: Node) -> Shapes:
    shape = node.input(0).shape
    axis = _axis(node, 1, len(shape) + 1)
    return ((*shape[:axis], 1, *shape[axis:]),)


def _axis(node: Node, position: int, rank: int) -> int:
    """The constant that names an axis."""
    axes = node.integers(position, "axis")
    if len(axes) != 1:
        raise UnsupportedError(f"axis is {list(axes)}, one number was expected")
    return axis_index(axes[0], rank)


def _squeeze(node: Node) -> Shapes:
    options, shape = node.options(tflite.SqueezeOptions), node.input(0).shape
    given = {axis_index(options.SqueezeDims(at), len(shape)) for at in range(options.SqueezeDimsLength())}
    gone = given or {axis for axis, size in enumerate(shape) if size == 1}
    for axis in sorted(gone):
        if shape[axis] != 1:
            raise UnsupportedError(
                f"axis {axis} of tensor '{node.input(0).name}' has size {shape[axis]}, 1 was expected to leave it out"
            )
    return (tuple(size for axis, size in enumerate(shape) if axis not in gone),)


def _shape(node: Node) -> Shapes:
    return ((len(node.input(0).shape),),)


def _concatenation(node: Node) -> Shapes:
    shapes = [node.input(position).shape for position in range(node.input_count)]
    axis = axis_index(node.options(tflite.ConcatenationOptions).Axis(), len(shapes[0]) if shapes else 0)
    rests = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rests) != 1 or len({len(shape) for shape in shapes}) != 1:
        raise _unfit(shapes)
    return ((*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]),)


def _pack(node: Node) -> Shapes:
    shape = node.input(0).shape
    axis = axis_index(node.options(tflite.PackOptions).Axis(), len(shape) + 1)
    return ((*shape[:axis], node.input_count, *shape[axis:]),)


def _unpack(node: Node) -> Shapes:
    shape = node.input(0).shape
    axis = axis_index(node.options(tflite.UnpackOptions).Axis(), len(shape))
    return ((*shape[:axis], *shape[axis + 1 :]),) * len(node.raw.outputs)


def _pad(node: Node) -> Shapes:
    shape, (before, after) = node.input(0).shape, paddings(node)
    if len(before) != len(shape):
        raise UnsupportedError(f"{len(before)} pairs of padding for {len(shape)} dimensions")
    return (tuple(map(sum, zip(shape, before, after, strict=True))),)


def _reduction(node: Node) -> Shapes:
    axes, keeps = reduced_axes(node), node.options(tflite.ReducerOptions).KeepDims()
    sizes = ((1 if axis in axes else size, axis in axes) for axis, size in enumerate(node.input(0).shape))
    return (tuple(size for size, is_reduced in sizes if keeps or not is_reduced),)


def _arg(node: Node) -> Shapes:
    axes = reduced_axes(node)
    return (tuple(size for axis, size in enumerate(node.input(0).shape) if axis not in axes),)


def _transpose(node: Node) -> Shapes:
    shape, order = node.input(0).shape, node.integers(1, "permutation")
    return (tuple(shape[axis_index(axis, len(shape))] for axis in order),)


def _slice(node: Node) -> Shapes:
    return (sliced_shape(node),)


def _strided_slice(node: Node) -> Shapes:
    return (cut_out(node)[1],)


def _gather(node: Node) -> Shapes:
    options, shape, indices = node.options(tflite.GatherOptions), node.input(0).shape, node.input(1).shape
    batch_dims, axis = batch_axes(node), axis_index(options.Axis(), len(shape))
    return ((*shape[:axis], *indices[batch_dims:], *shape[axis + 1 :]),)


def _gather_nd(node: Node) -> Shapes:
    shape, indices = node.input(0).shape, node.input(1).shape
    depth = indices[-1] if indices else 0
    if not 0 < depth <= len(shape):
        raise _unfit((shape, indices))
    return ((*indices[:-1], *shape[depth:]),)


def _embedding_lookup(node: Node) -> Shapes:
    return ((*node.input(0).shape, *node.input(1).shape[1:]),)


def _split(node: Node) -> Shapes:
    shape, count = node.input(1).shape, len(node.raw.outputs)
    axis = _axis(node, 0, len(shape))
    if not count or shape[axis] % count:
        raise UnsupportedError(
            f"axis {axis} of tensor '{node.input(1).name}' has size {shape[axis]}, not {count} parts"
        )
    return ((*shape[:axis], shape[axis] // count, *shape[axis + 1 :]),) * count


def _split_v(node: Node) -> Shapes:
    shape, sizes = node.input(0).shape, node.integers(1, "sizes")
    axis = _axis(node, 2, len(shape))
    rest = shape[axis] - sum(size for size in sizes if size != -1)
    if sizes.count(-1) > 1 or rest < 0 or (rest and -1 not in sizes):
        raise UnsupportedError(f"sizes {list(sizes)} of tensor '{node.input(0).name}' do not add up to {shape[axis]}")
    return tuple((*shape[:axis], rest if size == -1 else size, *shape[axis + 1 :]) for size in sizes)


def _tile(node: Node) -> Shapes:
    shape, multiples = node.input(0).shape, node.integers(1, "multiples")
    if len(multiples) != len(shape):
        raise UnsupportedError(f"multiples {list(multiples)} do not fit {len(shape)} dimensions")
    return (tuple(size * count for size, count in zip(shape, multiples, strict=True)),)


def _image(node: Node) -> tuple[int, int, int, int]:
    if len(node.input(0).shape) != 4:
        raise UnsupportedError(
            f"input '{node.input(0).name}' has shape {list(node.input(0).shape)}, an image was expected"
        )
    batch, height, width, channels = node.input(0).shape
    return batch, height, width, channels


def _depth_to_space(node: Node) -> Shapes:
    (batch, height, width, channels), block = _image(node), node.options(tflite.DepthToSpaceOptions).BlockSize()
    if block < 1 or channels % block**2:
        raise UnsupportedError(f"{channels} channels do not divide into blocks of {block} x {block}")
    return ((batch, height * block, width * block, channels // block**2),)


def _space_to_depth(node: Node) -> Shapes:
    (batch, height, width, channels), block = _image(node), node.options(tflite.SpaceToDepthOptions).BlockSize()
    if block < 1 or height % block or width % block:
        raise UnsupportedError(f"{height} x {width} pixels do not divide into blocks of {block} x {block}")
    return ((batch, height // block, width // block, channels * block**2),)


def _space_to_batch(node: Node) -> Shapes:
    shape, (block, (before, after)) = node.input(0).shape, block_and_edges(node)
    padded = tuple(map(sum, zip(shape[1:], before, after, strict=False)))
    if any(size % step for size, step in zip(padded, block, strict=True)):
        raise UnsupportedError(f"{list(padded)} does not divide into blocks of {list(block)}")
    sizes = (size // step for size, step in zip(padded, block, strict=True))
    return ((shape[0] * math.prod(block), *sizes, *shape[1 + len(block) :]),)


def _batch_to_space(node: Node) -> Shapes:
    shape, (block, (before, after)) = node.input(0).shape, block_and_edges(node)
    if shape[0] % math.prod(block):
        raise UnsupportedError(f"{shape[0]} images are no multiple of a block of {list(block)}")
    whole = (size * step for size, step in zip(shape[1:], block, strict=False))
    sizes = (size - low - high for size, low, high in zip(whole, before, after, strict=True))
    return ((shape[0] // math.prod(block), *sizes, *shape[1 + len(block) :]),)


def _select(node: Node) -> Shapes:
    return (node.input(1).shape,)


def _broadcast_args(node: Node) -> Shapes:
    return ((max(node.input(position).type.elements for position in range(2)),),)


def _rank(node: Node) -> Shapes:  # noqa: ARG001 - one number, of whatever tensor
    return ((),)


def _one_hot(node: Node) -> Shapes:
    return (one_hot_shape(node)[0],)


def _range(node: Node) -> Shapes:
    begin, end, step = (node.constant(at, role).item() for at, role in enumerate(("start", "limit", "delta")))
    if not step:
        raise UnsupportedError("delta is 0, another number was expected")
    return ((max(0, math.ceil((end - begin) / step)),),)


def _given(position: int) -> "Rule":
    def given_shape(node: Node) -> Shapes:
        return (node.integers(position, "shape"),)

    return given_shape


def _resized(node: Node) -> Shapes:
    shape, size = node.input(0).shape, node.integers(1, "size")
    if len(shape) != 4 or len(size) != 2:
        raise UnsupportedError(f"input {list(shape)} and size {list(size)} must be an image and two numbers")
    return ((shape[0], *size, shape[3]),)


Rule = Callable[[Node], Shapes]

_SAME = (
    "ABS",
    "CAST",
    "CEIL",
    "COS",
    "CUMSUM",
    "DEQUANTIZE",
    "DYNAMIC_UPDATE_SLICE",
    "ELU",
    "EXP",
    "FLOOR",
    "GELU",
    "HARD_SWISH",
    "L2_NORMALIZATION",
    "LEAKY_RELU",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOG",
    "LOGICAL_NOT",
    "LOGISTIC",
    "LOG_SOFTMAX",
    "NEG",
    "PRELU",
    "QUANTIZE",
    "RELU",
    "RELU6",
    "RELU_0_TO_1",
    "RELU_N1_TO_1",
    "REVERSE_SEQUENCE",
    "REVERSE_V2",
    "ROUND",
    "RSQRT",
    "SIGN",
    "SIN",
    "SOFTMAX",
    "SQRT",
    "SQUARE",
    "TANH",
    "ZEROS_LIKE",
)
_ELEMENTWISE = (
    "ADD",
    "ADD_N",
    "ATAN2",
    "BITWISE_XOR",
    "DIV",
    "EQUAL",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "GREATER",
    "GREATER_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "LOGICAL_AND",
    "LOGICAL_OR",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NOT_EQUAL",
    "POW",
    "RIGHT_SHIFT",
    "SELECT_V2",
    "SQUARED_DIFFERENCE",
    "SUB",
)
_REDUCTIONS = ("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM")

_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(_ELEMENTWISE, _broadcast),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _arg),
    **dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), _pool),
    **dict.fromkeys(("MIRROR_PAD", "PAD", "PADV2"), _pad),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    **dict.fromkeys(("FILL", "TRANSPOSE_CONV"), _given(0)),
    "BATCH_MATMUL": _batch_matmul,
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "BROADCAST_ARGS": _broadcast_args,
    "BROADCAST_TO": _given(1),
    "CONCATENATION": _concatenation,
    "CONV_2D": _conv2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv2d,
    "DEPTH_TO_SPACE": _depth_to_space,
    "EMBEDDING_LOOKUP": _embedding_lookup,
    "EXPAND_DIMS": _expand_dims,
    "FULLY_CONNECTED": _fully_connected,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "ONE_HOT": _one_hot,
    "PACK": _pack,
    "RANGE": _range,
    "RANK": _rank,
    "RESHAPE": _reshape,
    "SCATTER_ND": _given(2),
    "SELECT": _select,
    "SHAPE": _shape,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
"""The shapes of an operator's results by those of its inputs; its reader checks them once more."""
