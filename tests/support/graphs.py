"""Small int8 graphs built directly in IR, and a hypothesis strategy of random ones."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tinygen.ir.graph import Graph, Op, Port, Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.add import Add
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.lookup import Lookup
from tinygen.ops.mul import Mul
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Mean
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding, PaddingMode, Window, padding_for

ACTIVATION = Quant((0.05,), (-3,))
_PROBABILITY = Quant((1.0 / 256,), (-128,))
_3X3 = HW(3, 3)
_MOST_ROWS = 24  # of random images
_TYPICAL = 74  # standard deviation of uniform int8 values


class GraphBuilder:
    """Adds operators one by one; all activations have the same quantization, so that any two can be combined."""

    def __init__(self, seed: int = 0) -> None:
        self.inputs: list[Tensor] = []
        self.ops: list[Op] = []
        self._random = np.random.default_rng(seed)

    def input(self, *shape: int) -> Tensor:
        """A further input of the model."""
        self.inputs.append(Tensor(f"in{len(self.inputs)}", TensorType(DType.INT8, shape, ACTIVATION)))
        return self.inputs[-1]

    def conv(
        self,
        input: Tensor,
        channels: int,
        kernel: HW = UNIT,
        stride: HW = UNIT,
        padding: Padding | None = None,
        dilation: HW = UNIT,
    ) -> Tensor:
        """A convolution with SAME padding, or the given one."""
        window, size = _window(input, kernel, stride, padding, dilation)
        weights = self._weights((channels, kernel.h, kernel.w, input.shape[3]), 0)
        output = self._result((input.shape[0], size.h, size.w, channels))
        return self._add(
            Conv2D,
            input=input,
            weights=weights,
            bias=self._bias(channels, input, weights),
            output=output,
            stride=stride,
            dilation=dilation,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )

    def depthwise(
        self,
        input: Tensor,
        multiplier: int = 1,
        kernel: HW = _3X3,
        stride: HW = UNIT,
        padding: Padding | None = None,
        dilation: HW = UNIT,
    ) -> Tensor:
        """A depthwise convolution with SAME padding, or the given one."""
        window, size = _window(input, kernel, stride, padding, dilation)
        channels = input.shape[3] * multiplier
        weights = self._weights((1, kernel.h, kernel.w, channels), 3)
        output = self._result((input.shape[0], size.h, size.w, channels))
        return self._add(
            DepthwiseConv2D,
            input=input,
            weights=weights,
            bias=self._bias(channels, input, weights),
            output=output,
            stride=stride,
            dilation=dilation,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )

    def fully_connected(self, input: Tensor, units: int) -> Tensor:
        """A fully connected layer over all elements."""
        weights = self._weights((units, input.type.elements), 0)
        output = self._result((1, units))
        bias = self._bias(units, input, weights)
        clamp = Clamp.none(output.type)
        return self._add(FullyConnected, input=input, weights=weights, bias=bias, output=output, clamp=clamp)

    def pool(
        self,
        kind: type[AveragePool2D] | type[MaxPool2D],
        input: Tensor,
        kernel: HW,
        stride: HW,
        padding: Padding | None = None,
    ) -> Tensor:
        """A pooling with SAME padding, or the given one."""
        window, size = _window(input, kernel, stride, padding, UNIT)
        output = self._result((input.shape[0], size.h, size.w, input.shape[3]), input.type.quant)
        clamp = Clamp.none(output.type)
        return self._add(
            kind, input=input, output=output, kernel=kernel, stride=stride, padding=window.padding, clamp=clamp
        )

    def add(self, first: Tensor, second: Tensor) -> Tensor:
        """A sum, broadcast."""
        output = self._result(np.broadcast_shapes(first.shape, second.shape))
        return self._add(Add, first=first, second=second, output=output, clamp=Clamp.none(output.type))

    def mul(self, first: Tensor, second: Tensor) -> Tensor:
        """A product, broadcast."""
        output = self._result(np.broadcast_shapes(first.shape, second.shape))
        return self._add(Mul, first=first, second=second, output=output, clamp=Clamp.none(output.type))

    def mean(self, input: Tensor) -> Tensor:
        """The mean of each channel, as [N, C]."""
        batches, _, _, channels = input.shape
        return self._add(Mean, input=input, output=self._result((batches, channels)), axes=(1, 2))

    def mean_of_rows(self, input: Tensor) -> Tensor:
        """The mean over the columns, as [N, H, 1, C]."""
        batches, height, _, channels = input.shape
        return self._add(Mean, input=input, output=self._result((batches, height, 1, channels)), axes=(2,))

    def transpose_conv(self, input: Tensor, channels: int, kernel: HW, stride: HW, size: HW, top: int) -> Tensor:
        """A transposed convolution to any size."""
        weights = self._weights((channels, kernel.h, kernel.w, input.shape[3]), 0)
        output = self._result((input.shape[0], size.h, size.w, channels))
        return self._add(
            TransposeConv2D,
            input=input,
            weights=weights,
            bias=self._bias(channels, input, weights),
            output=output,
            stride=stride,
            top=top,
            left=0,
            clamp=Clamp.none(output.type),
        )

    def resize(self, kind: type[ResizeNearest] | type[ResizeBilinear], input: Tensor, size: HW, mode: str) -> Tensor:
        """The input at another size; mode: "", "align_corners" or "half_pixel_centers"."""
        batches, _, _, channels = input.shape
        output = self._result((batches, size.h, size.w, channels), input.type.quant)
        flags = {flag: flag == mode for flag in ("align_corners", "half_pixel_centers")}
        return self._add(kind, input=input, output=output, **flags)

    def depth_to_space(self, input: Tensor, block: int) -> Tensor:
        """Channels that become pixels."""
        batches, height, width, channels = input.shape
        shape = (batches, height * block, width * block, channels // block**2)
        return self._add(DepthToSpace, input=input, output=self._result(shape, input.type.quant), block=block)

    def space_to_depth(self, input: Tensor, block: int) -> Tensor:
        """Pixels that become channels."""
        batches, height, width, channels = input.shape
        shape = (batches, height // block, width // block, channels * block**2)
        return self._add(SpaceToDepth, input=input, output=self._result(shape, input.type.quant), block=block)

    def swap_in_rows(self, input: Tensor) -> Tensor:
        """Columns and channels exchanged."""
        batches, height, width, channels = input.shape
        output = self._result((batches, height, channels, width), input.type.quant)
        return self._add(Transpose, input=input, output=output, permutation=(0, 1, 3, 2))

    def swap_rows_and_columns(self, input: Tensor) -> Tensor:
        """The image on its side: no row of it is a row of the other."""
        batches, height, width, channels = input.shape
        output = self._result((batches, width, height, channels), input.type.quant)
        return self._add(Transpose, input=input, output=output, permutation=(0, 2, 1, 3))

    def gather(self, input: Tensor, axis: int, indices: Sequence[int]) -> Tensor:
        """Some columns or channels, in any order."""
        shape = list(input.shape)
        shape[axis] = len(indices)
        data = np.array(indices, np.int32)
        chosen = Tensor(f"i{len(self.ops)}", TensorType(DType.INT32, data.shape), data)
        output = self._result(tuple(shape), input.type.quant)
        return self._add(Gather, input=input, indices=chosen, output=output, axis=axis, batch_dims=0)

    def copy(self, input: Tensor) -> Tensor:
        """The same in memory of its own."""
        return self._add(Copy, input=input, output=self._result(input.shape, input.type.quant))

    def dense_pixels(self, input: Tensor, units: int) -> Tensor:
        """A fully connected layer for each pixel."""
        weights = self._weights((units, input.shape[3]), 0)
        output = self._result((*input.shape[:3], units))
        bias, clamp = self._bias(units, input, weights), Clamp.none(output.type)
        return self._add(FullyConnected, input=input, weights=weights, bias=bias, output=output, clamp=clamp)

    def matmul(self, input: Tensor, columns: int) -> Tensor:
        """A product with a constant matrix for each of the last two axes; its zero point is not 0."""
        drawn = self._weights((*input.shape[:-2], input.shape[-1], columns), len(input.shape) - 1)
        second = Tensor(drawn.name, TensorType(DType.INT8, drawn.shape, Quant((0.005,), (9,))), drawn.data)
        output = self._result((*input.shape[:-1], columns))
        sides = {"transpose_first": False, "transpose_second": False}
        return self._add(BatchMatMul, first=input, second=second, output=output, **sides)

    def prelu(self, input: Tensor) -> Tensor:
        """A slope for each channel where the input is negative."""
        alpha = self._weights((1, 1, input.shape[3]), 2)
        quant = Quant((0.01,), (3,))
        slopes = Tensor(alpha.name, TensorType(DType.INT8, alpha.shape, quant), alpha.data)
        return self._add(Prelu, input=input, alpha=slopes, output=self._result(input.shape))

    def lookup(self, input: Tensor) -> Tensor:
        """Any function of each element."""
        data = self._random.integers(-128, 128, 256, np.int8)
        table = Tensor(f"w{len(self.ops)}", TensorType(DType.INT8, (256,)), data)
        return self._add(Lookup, input=input, table=table, output=self._result(input.shape))

    def pad(self, input: Tensor, before: tuple[int, ...], after: tuple[int, ...]) -> Tensor:
        """The input with zero points around it."""
        shape = tuple(b + size + a for b, size, a in zip(before, input.shape, after, strict=True))
        output = self._result(shape, input.type.quant)
        return self._add(Pad, input=input, output=output, before=before, after=after, value=input.type.zero_point)

    def reshape(self, input: Tensor, *shape: int) -> Tensor:
        """The same elements."""
        return self._add(Reshape, input=input, output=self._result(shape, input.type.quant))

    def softmax(self, input: Tensor) -> Tensor:
        """Softmax over the last axis."""
        return self._add(Softmax, input=input, output=self._result(input.shape, _PROBABILITY), beta=1.0)

    def concat(self, inputs: Sequence[Tensor], axis: int) -> Tensor:
        """Inputs of one quantization, one after the other."""
        shape = list(inputs[0].shape)
        shape[axis] = sum(tensor.shape[axis] for tensor in inputs)
        return self._add(
            Concat, inputs=tuple(inputs), output=self._result(tuple(shape), inputs[0].type.quant), axis=axis
        )

    def slice(self, input: Tensor, axis: int, first: int, size: int) -> Tensor:
        """Some rows, columns or channels."""
        shape, begin = list(input.shape), [0] * len(input.shape)
        shape[axis], begin[axis] = size, first
        output = self._result(tuple(shape), input.type.quant)
        strides = (1,) * len(shape)
        return self._add(Slice, input=input, output=output, begin=tuple(begin), strides=strides)

    def graph(self, *outputs: Tensor) -> Graph:
        """The graph so far."""
        return Graph("net", _ports(self.inputs), _ports(outputs), tuple(self.ops))

    def _add(self, kind: type[Op], **fields: object) -> Tensor:
        index = len(self.ops)
        op = kind(name=f"op{index}", source=Source("net", index, kind.__name__), **fields)
        op.verify()
        self.ops.append(op)
        return op.results[0]

    def _result(self, shape: tuple[int, ...], quant: Quant | None = ACTIVATION) -> Tensor:
        return Tensor(f"t{len(self.ops)}", TensorType(DType.INT8, shape, quant))

    def _weights(self, shape: tuple[int, ...], axis: int) -> Tensor:
        fan_in = max(int(np.prod(shape)) // shape[axis], 1)
        scales = self._random.uniform(0.5, 1.5, shape[axis]).astype(np.float32) / np.float32(_TYPICAL * fan_in**0.5)
        quant = Quant(tuple(float(scale) for scale in scales), (0,) * len(scales), axis)
        data = self._random.integers(-127, 128, shape, np.int8)
        return Tensor(f"w{len(self.ops)}", TensorType(DType.INT8, shape, quant), data)

    def _bias(self, channels: int, input: Tensor, weights: Tensor) -> Tensor:
        assert weights.type.quant is not None
        quant = Quant(tuple(input.type.scale * scale for scale in weights.type.quant.scales), (0,) * channels, 0)
        data = self._random.integers(-500, 500, (channels,), np.int32)
        return Tensor(f"b{len(self.ops)}", TensorType(DType.INT32, (channels,), quant), data)


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    """A value for every input of a graph with inputs of int8 or float32."""
    random = np.random.default_rng(seed)
    return [
        random.standard_normal(tensor.shape, np.float32)
        if tensor.type.dtype.is_real
        else random.integers(-128, 128, tensor.shape, np.int8)
        for tensor in graph.input_tensors
    ]


def evaluate(graph: Graph, inputs: Sequence[Array]) -> dict[Tensor, Array]:
    """The value of every variable tensor, each in memory of its own: what any plan has to reproduce."""
    values = dict(zip(graph.input_tensors, inputs, strict=True))
    for op in graph.ops:
        results = op.evaluate(Values(values.__getitem__))
        values.update(zip(op.results, results, strict=True))
    return values


@st.composite
def graphs(draw: st.DrawFn, max_ops: int = 10) -> Graph:
    """Random networks: branches, residuals, dead ends, views, one or two inputs and outputs."""
    build = GraphBuilder(draw(st.integers(0, 1000)))
    sizes = st.integers(2, 7)
    tensors = [
        build.input(1, draw(sizes), draw(sizes), draw(st.integers(1, 6))) for _ in range(draw(st.integers(1, 2)))
    ]
    for _ in range(draw(st.integers(1, max_ops))):
        tensors.append(_draw_op(draw, build, tensors))
    results = tensors[len(build.inputs) :]
    others = draw(st.lists(st.sampled_from(results), max_size=1))
    return build.graph(*dict.fromkeys([results[-1], *others]))


@st.composite
def images(draw: st.DrawFn, max_ops: int = 8) -> Graph:
    """Random networks on images, most of whose operators can run row by row: any strides, kernels, asymmetric pads,
    odd widths, residuals, concatenations, several readers, inputs and outputs, an average over the image at the end."""
    build = GraphBuilder(draw(st.integers(0, 1000)))
    shape = (1, draw(st.integers(1, 13)), draw(st.integers(1, 5)), draw(st.integers(1, 4)))
    tensors = [build.input(*shape) for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(1, max_ops))):
        tensors.append(_draw_row_op(draw, build, tensors))
    results = tensors[len(build.inputs) :]
    others = draw(st.lists(st.sampled_from(results), max_size=1))
    return build.graph(*dict.fromkeys([_draw_end(draw, build, results[-1]), *others]))


@st.composite
def bottlenecks(draw: st.DrawFn) -> Graph:
    """Random networks whose operators can run in slices of channels: products that make many channels, operators on
    each channel, products that take them; on images and vectors, with residuals, odd numbers of channels, views."""
    build = GraphBuilder(draw(st.integers(0, 1000)))
    few, many = st.integers(1, 5), st.integers(2, 21)
    tensor = build.input(1, draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(few))
    for _ in range(draw(st.integers(1, 2))):
        start = tensor
        tensor = _draw_producer(draw, build, tensor, draw(many))
        for _ in range(draw(st.integers(0, 3))):
            tensor = _draw_channel_op(draw, build, tensor)
        tensor = _draw_product(draw, build, tensor, draw(st.sampled_from([start.shape[3], 1, 2, 7])))
        if draw(st.booleans()) and _broadcasts(start, tensor):
            tensor = build.add(start, tensor)
    if draw(st.booleans()):
        tensor = build.fully_connected(build.fully_connected(tensor, draw(many)), draw(few))
    elif draw(st.booleans()):
        wide = _draw_channel_op(draw, build, _draw_producer(draw, build, tensor, draw(many)))
        tensor = build.pool(AveragePool2D, wide, HW(*wide.shape[1:3]), UNIT, NO_PADDING)
        if draw(st.booleans()):
            tensor = build.reshape(tensor, 1, tensor.shape[3])
        if draw(st.booleans()):
            tensor = build.fully_connected(tensor, draw(few))
    return build.graph(tensor)


def _draw_producer(draw: st.DrawFn, build: GraphBuilder, source: Tensor, channels: int) -> Tensor:
    """An operator that computes channels from all of an image."""
    match draw(st.sampled_from(["conv", "1x1", "dense"])):
        case "conv":
            return build.conv(source, channels, HW(draw(st.integers(1, 3)), 2), HW(draw(st.integers(1, 2)), 1))
        case "1x1":
            return build.conv(source, channels)
        case _:
            return build.dense_pixels(source, channels)


def _draw_channel_op(draw: st.DrawFn, build: GraphBuilder, source: Tensor) -> Tensor:
    """An operator that treats every channel on its own."""
    kind = draw(st.sampled_from(["depthwise", "pool", "residual", "prelu", "lookup", "resize", "copy", "pad"]))
    kernel, stride = HW(draw(st.integers(1, 3)), draw(st.integers(1, 3))), HW(draw(st.integers(1, 2)), 1)
    match kind:
        case "depthwise":
            return build.depthwise(source, 1, kernel, stride)
        case "pool":
            pool: type[AveragePool2D] | type[MaxPool2D] = AveragePool2D if draw(st.booleans()) else MaxPool2D
            return build.pool(pool, source, kernel, stride)
        case "residual":
            return draw(st.sampled_from([build.add, build.mul]))(source, build.lookup(source))
        case "prelu":
            return build.prelu(source)
        case "lookup":
            return build.lookup(source)
        case "resize":
            return build.resize(ResizeNearest, source, HW(draw(st.integers(1, 4)), 2), "")
        case "pad":
            return build.pad(source, (0, 1, 0, 0), (0, 0, 1, 0))
        case _:
            return build.copy(source)


def _draw_product(draw: st.DrawFn, build: GraphBuilder, source: Tensor, channels: int) -> Tensor:
    """An operator that takes all channels of pixels, or of all of an image."""
    match draw(st.sampled_from(["1x1", "dense", "whole"])):
        case "1x1":
            return build.conv(source, channels)
        case "dense":
            return build.dense_pixels(source, channels)
        case _:
            return build.conv(source, channels, HW(*source.shape[1:3]), UNIT, NO_PADDING)


def _draw_row_op(draw: st.DrawFn, build: GraphBuilder, tensors: list[Tensor]) -> Tensor:
    """An operator on any image so far, more often on the last one."""
    source = draw(st.sampled_from([*tensors, *tensors[-1:] * len(tensors)]))
    kinds = ("conv", "depthwise", "pool", "residual", "concat", "slice", "pad", "prelu", "lookup", "softmax")
    others = ("resize", "transpose_conv", "blocks", "other")
    kind = draw(st.sampled_from((*kinds, *kinds[:4], *others)))
    stride = HW(draw(st.integers(1, 3)), draw(st.integers(1, 2)))
    kernel = HW(draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    match kind:
        case "conv" | "depthwise":
            dilation = HW(draw(st.sampled_from([1, 1, 2])), 1)
            padding = draw(_paddings(source, HW((kernel.h - 1) * dilation.h + 1, kernel.w)))
            if kind == "conv":
                return build.conv(source, draw(st.integers(1, 6)), kernel, stride, padding, dilation)
            return build.depthwise(source, draw(st.sampled_from([1, 1, 2])), kernel, stride, padding, dilation)
        case "pool":
            pool: type[AveragePool2D] | type[MaxPool2D] = AveragePool2D if draw(st.booleans()) else MaxPool2D
            return build.pool(pool, source, kernel, stride, draw(_paddings(source, kernel)))
        case "residual":
            other = draw(st.sampled_from([t for t in tensors if _broadcasts(t, source)]))
            return draw(st.sampled_from([build.add, build.mul]))(source, other)
        case "concat":
            return _draw_concat(draw, build, tensors, source)
        case "slice":
            axis = draw(st.integers(1, 3))
            first = draw(st.integers(0, source.shape[axis] - 1))
            return build.slice(source, axis, first, draw(st.integers(1, source.shape[axis] - first)))
        case "pad":
            sides = st.tuples(st.just(0), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))
            return build.pad(source, draw(sides), draw(sides))
        case "prelu":
            return build.prelu(source)
        case "lookup":
            return build.lookup(source)
        case "softmax":
            return build.softmax(source)
        case "resize":
            return _draw_resize(draw, build, source)
        case "transpose_conv":
            return _draw_transpose_conv(draw, build, source, kernel, stride)
        case "blocks":
            return _draw_blocks(draw, build, source)
        case _:
            return _draw_other(draw, build, source)


def _draw_resize(draw: st.DrawFn, build: GraphBuilder, source: Tensor) -> Tensor:
    """Larger or smaller, by any factor that the operator takes."""
    height = source.shape[1]
    size = HW(draw(st.integers(1, min(2 * height + 1, _MOST_ROWS))), draw(st.integers(1, 5)))
    kind: type[ResizeNearest] | type[ResizeBilinear] = ResizeBilinear if draw(st.booleans()) else ResizeNearest
    mode = draw(st.sampled_from(["", "align_corners", "half_pixel_centers"]))
    try:
        return build.resize(kind, source, size, mode)
    except ValueError:  # a step that rounds to a position outside of the input
        return build.resize(ResizeNearest, source, size, mode)


def _draw_transpose_conv(draw: st.DrawFn, build: GraphBuilder, source: Tensor, kernel: HW, stride: HW) -> Tensor:
    """To the full size, fewer rows or more, also ones that no input reaches."""
    _, height, width, _ = source.shape
    full = HW((height - 1) * stride.h + kernel.h, (width - 1) * stride.w + kernel.w)
    top = draw(st.integers(0, min(2, full.h - 1)))
    rows = min(max(1, full.h - top + draw(st.integers(-2, 2))), _MOST_ROWS)
    return build.transpose_conv(source, draw(st.sampled_from([1, 3, 5])), kernel, stride, HW(rows, full.w), top)


def _draw_blocks(draw: st.DrawFn, build: GraphBuilder, source: Tensor) -> Tensor:
    """Channels to pixels or pixels to channels, in the blocks that fit."""
    _, height, width, channels = source.shape
    if channels % 4 == 0 and height <= _MOST_ROWS // 2 and draw(st.booleans()):
        return build.depth_to_space(source, 2)
    blocks = [block for block in (2, 3) if height % block == width % block == 0]
    return build.space_to_depth(source, draw(st.sampled_from(blocks))) if blocks else build.copy(source)


def _draw_other(draw: st.DrawFn, build: GraphBuilder, source: Tensor) -> Tensor:
    """What only moves elements inside of rows, or reduces them."""
    match draw(st.sampled_from(["swap", "gather", "mean", "dense", "copy"])):
        case "swap":
            return build.swap_in_rows(source)
        case "gather":
            axis = draw(st.integers(2, 3))
            choices = st.integers(0, source.shape[axis] - 1)
            return build.gather(source, axis, draw(st.lists(choices, min_size=1, max_size=4)))
        case "mean":
            return build.mean_of_rows(source)
        case "dense":
            return build.dense_pixels(source, draw(st.integers(1, 5)))
        case _:
            return build.copy(source)


@st.composite
def _paddings(draw: st.DrawFn, source: Tensor, extent: HW) -> Padding | None:
    """SAME or any padding smaller than the window, such that the window fits."""
    if draw(st.booleans()):
        return None
    _, height, width, _ = source.shape
    top, bottom = draw(st.integers(0, extent.h - 1)), draw(st.integers(0, extent.h - 1))
    left, right = draw(st.integers(0, extent.w - 1)), draw(st.integers(0, extent.w - 1))
    fits = height + top + bottom >= extent.h and width + left + right >= extent.w
    return Padding(top, bottom, left, right) if fits else None


def _draw_end(draw: st.DrawFn, build: GraphBuilder, last: Tensor) -> Tensor:
    """The last result, or its average over the image, in either form, or a layer on all of it."""
    _, height, width, _ = last.shape
    size = HW(height, width)
    match draw(st.sampled_from(["nothing", "pool", "mean", "dense"])):
        case "pool":
            return build.pool(AveragePool2D, last, size, size, NO_PADDING)
        case "mean":
            return build.mean(last)
        case "dense":
            return build.fully_connected(last, 3)
        case _:
            return last


def _draw_op(draw: st.DrawFn, build: GraphBuilder, tensors: list[Tensor]) -> Tensor:
    """An operator on any tensor so far, more often on late ones."""
    source = draw(st.sampled_from([*tensors, *tensors[-2:]]))
    kind = draw(st.sampled_from(["conv", "depthwise", "pool", "add", "concat", "slice", "reshape", "dense", "softmax"]))
    if len(source.shape) != 4:
        kind = draw(st.sampled_from(["add", "dense", "softmax", "unflatten"]))
    kernel = HW(draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    stride = HW(draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    match kind:
        case "conv":
            return build.conv(source, draw(st.integers(1, 8)), kernel, stride)
        case "depthwise":
            return build.depthwise(source, draw(st.integers(1, 2)), kernel, stride)
        case "pool":
            return build.pool(AveragePool2D if draw(st.booleans()) else MaxPool2D, source, kernel, stride)
        case "add":
            return build.add(source, draw(st.sampled_from([t for t in tensors if _broadcasts(t, source)])))
        case "concat":
            return _draw_concat(draw, build, tensors, source)
        case "slice":
            axis = draw(st.integers(1, 3))
            first = draw(st.integers(0, source.shape[axis] - 1))
            return build.slice(source, axis, first, draw(st.integers(1, source.shape[axis] - first)))
        case "reshape":
            n, h, w, c = source.shape
            return build.reshape(source, *draw(st.sampled_from([(1, n * h * w * c), (n, w, h, c), (n, h * w, 1, c)])))
        case "unflatten":
            return build.reshape(source, 1, 1, 1, source.type.elements)
        case "dense":
            return build.fully_connected(source, draw(st.integers(1, 12)))
        case _:
            return build.softmax(source)


def _draw_concat(draw: st.DrawFn, build: GraphBuilder, tensors: list[Tensor], first: Tensor) -> Tensor:
    axis = draw(st.integers(1, 3))

    def rest(tensor: Tensor) -> tuple[int, ...]:
        return tensor.shape[:axis] + tensor.shape[axis + 1 :]

    fitting = [t for t in tensors if len(t.shape) == 4 and rest(t) == rest(first) and t.type.quant == first.type.quant]
    return build.concat([first, *draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))], axis)


def _broadcasts(first: Tensor, second: Tensor) -> bool:
    """Whether the shapes can be added; a dimension that neither has is not made."""
    pairs = zip(first.shape, second.shape, strict=False)
    return len(first.shape) == len(second.shape) and all(a == b or 1 in (a, b) for a, b in pairs)


def _window(input: Tensor, kernel: HW, stride: HW, padding: Padding | None, dilation: HW) -> tuple[Window, HW]:
    _, height, width, _ = input.shape
    same = padding_for(PaddingMode.SAME, HW(height, width), kernel, stride, dilation)
    window = Window(kernel, stride, dilation, padding or same)
    return window, window.output_size(height, width)


def _ports(tensors: Sequence[Tensor]) -> tuple[Port, ...]:
    return tuple(Port(tensor.name, tensor, tensor.type) for tensor in tensors)
