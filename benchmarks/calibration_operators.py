"""Operators to measure kernels on: of random shapes, from a few pixels to some rows of an image, some of layers of
networks, each from a seed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np

from tests.support.coded_layers import narrowed
from tinygen.ir.graph import Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.kernels.squeezing import BLOCK
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_layer import LAYERS, Layer, Levels, integer_layer, quantization
from tinygen.ops.dynamic_quantize import RangeRule
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.lookup import Lookup
from tinygen.ops.mul import Mul
from tinygen.ops.partial_products import AddChannelProducts, AddProducts, ScaleProducts
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.running_range import BOUNDS_SHAPE, WidenRange
from tinygen.ops.running_sum import DivideSums, SumRows
from tinygen.ops.softmax import Softmax
from tinygen.ops.window import HW, NO_PADDING, UNIT, PaddingMode, Window, padding_for

_ACTIVATION = Quant((0.05,), (-3,))
_PROBABILITY = Quant((1.0 / 256,), (-128,))
_MOST_MACS = 300_000
_MOST_MACS_OF_NETWORKS = 2_000_000
_SCALE = 0.02  # of levels of real numbers
_MOST_REAL_MACS = 50_000  # without a float unit each takes some 100 instructions
_CHANNELS = (4, 8, 16, 24, 32, 48, 64, 96, 128, 256)
_TILED = (8, 12, 16, 24, 32, 48, 64)
_FILTERS = (HW(3, 3), HW(3, 3), HW(5, 5), HW(10, 4), HW(1, 3), HW(3, 1), HW(2, 2))
_TIMES_SMALLER = (5, 12)  # weights, so that 4 or 8 products add up to 16 bits
_NOT_ZERO = 0.95  # of blocks
_LONG_FILTERS = (HW(3, 1), HW(5, 1), HW(9, 1), HW(15, 1), HW(5, 5), HW(7, 7), HW(4, 4))


def operators() -> tuple[Op, ...]:
    """All operators; the same each time."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (60, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
        (60, lambda random: _convolution(random, UNIT, 1)),
        (30, lambda random: _convolution(random, UNIT, 2)),
        (50, lambda random: _depthwise(random, HW(3, 3), random.choice((1, 1, 2)))),
        (50, lambda random: _depthwise(random, random.choice(_LONG_FILTERS), random.choice((1, 1, 2)))),
        (15, _single_channel_depthwise),
        (30, _fully_connected),
        (12, lambda random: _pool(random, AveragePool2D)),
        (12, lambda random: _pool(random, MaxPool2D)),
        (10, lambda random: _binary(random, Add)),
        (10, lambda random: _binary(random, Mul)),
        (8, _softmax),
        (8, _copy),
        (8, _lookup),
        (12, _sum_rows),
        (8, _divide_sums),
        (16, _add_products),
        (24, _add_channel_products),
        (12, _scale_products),
    )
    return tuple(_named(op, index) for index, op in enumerate(_drawn(families)))


def rows_within_images() -> tuple[Op, ...]:
    """Convolutions of some rows in the middle of an image: without padding above and below them, more of the input lies
    under each row of the result."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (30, lambda random: _depthwise(random, HW(3, 3), random.choice((1, 1, 2)))),
        (30, lambda random: _depthwise(random, random.choice(_LONG_FILTERS), random.choice((1, 1, 2)))),
        (20, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
    )
    ops = (_inside(op) for op in _drawn(families) if isinstance(op, Conv2D | DepthwiseConv2D))
    return tuple(_named(op, index) for index, op in enumerate(ops))


def layers_of_small_weights() -> tuple[Op, ...]:
    """Convolutions and fully connected layers whose products add up to 16 bits by fours or by eights."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (24, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
        (12, lambda random: _convolution(random, UNIT, 1)),
        (12, lambda random: _fully_connected(random, features=8 * random.randrange(1, 80))),
    )
    ops = (_with_small_weights(op) for op in _drawn(families) if isinstance(op, Conv2D | FullyConnected))
    return tuple(_named(op, index) for index, op in enumerate(ops))


def layers_of_narrow_weights() -> tuple[Op, ...]:
    """Convolutions whose weights are integers of four and of two bits."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (20, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
        (20, lambda random: _convolution(random, UNIT, 1)),
    )
    ops = (narrowed(op, (DType.INT4, DType.INT2)[index % 2]) for index, op in enumerate(_drawn(families)))
    return tuple(_named(op, index) for index, op in enumerate(ops))


def layers_of_narrow_blocks() -> tuple[Op, ...]:
    """Fully connected layers and 1x1 convolutions whose weights take from no bits to eight, block by block."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (36, lambda random: _in_narrow_blocks(random, _fully_connected(random, random.choice((1, 1, 3))))),
        (12, lambda random: _in_narrow_blocks(random, _convolution(random, UNIT, 1))),
    )
    return tuple(_named(op, index) for index, op in enumerate(_drawn(families)))


def convolutions_for_tiles() -> tuple[Op, ...]:
    """Convolutions for which Winograd's method pays, on cores where it does."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = ((40, _convolution_for_tiles),)
    return tuple(_named(op, index) for index, op in enumerate(_drawn(families)))


def convolutions_for_tiles_at_stride_2() -> tuple[Op, ...]:
    """The same at stride 2, where they pay in layers of many channels."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = ((24, _convolution_for_tiles_at_stride_2),)
    return tuple(_named(op, index) for index, op in enumerate(_drawn(families, _MOST_MACS_OF_NETWORKS)))


def convolutions_of_networks() -> tuple[Op, ...]:
    """Convolutions of filters larger than a pixel, as large as those of networks: products outweigh what stands around
    them."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (60, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
    )
    drawn = _drawn(families, _MOST_MACS_OF_NETWORKS, least=_MOST_MACS)
    return tuple(_named(op, index) for index, op in enumerate(drawn))


def filters_of_one_line() -> tuple[Op, ...]:
    """Depthwise convolutions along one axis."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = ((60, _depthwise_of_one_line),)
    return tuple(_named(op, index) for index, op in enumerate(_drawn(families)))


def _depthwise_of_one_line(random: Random) -> Op:
    taps, is_row = random.choice((3, 5, 7, 9, 13)), random.random() < 0.5
    return _depthwise(random, HW(1, taps) if is_row else HW(taps, 1), 1)


def _convolution_for_tiles(random: Random) -> Op:
    input = _tensor((1, random.choice((1, 2, 4, 6, 8)), random.choice((4, 6, 8, 16, 20)), random.choice(_TILED)))
    return _convolution_of(random.choice(_TILED), input, HW(3, 3), 1)


def _convolution_for_tiles_at_stride_2(random: Random) -> Op:
    input = _tensor((1, *(random.choice((3, 7, 8, 16, 24, 32)) for _ in range(2)), random.choice(_TILED)))
    return _convolution_of(random.choice(_TILED), input, HW(3, 3), 2)


def real_layers() -> tuple[Op, ...]:
    """Layers on float32, and all that they are made of where they are quantized at run time."""
    families: tuple[tuple[int, Callable[[Random], Op]], ...] = (
        (20, lambda random: _convolution(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
        (20, lambda random: _convolution(random, UNIT, 1)),
        (24, lambda random: _depthwise(random, random.choice(_FILTERS), random.choice((1, 1, 2)))),
        (30, lambda random: _fully_connected(random, random.choice((1, 1, 3, 8, 25)))),
    )
    drawn = [op for op in _drawn(families, _MOST_REAL_MACS) if isinstance(op, LAYERS)]
    ops: list[Op] = []
    for index, layer in enumerate(drawn):
        rule = (RangeRule.ASYMMETRIC, RangeRule.SYMMETRIC)[index % 2]
        ops += _real_forms(layer, rule, zero_point=0 if index % 4 < 3 else 5)
    return tuple(_named(op, index) for index, op in enumerate(ops))


def _real_forms(layer: Layer, rule: RangeRule, zero_point: int) -> Iterator[Op]:
    """The layer on real numbers, and on levels that `rule` gives, with weights of the zero point."""
    assert layer.weights.data is not None and layer.bias is not None and layer.bias.data is not None
    real, shape = layer.weights.data.astype(np.float32), layer.bias.shape
    bias = Tensor("bias", TensorType(DType.FLOAT32, shape), layer.bias.data.astype(np.float32))
    moved = replace(
        layer,
        input=_real_tensor(layer.input.shape),
        weights=Tensor("weights", TensorType(DType.FLOAT32, real.shape), real),
        bias=bias,
        output=_real_tensor(layer.output.shape),
        clamp=Clamp.none(TensorType(DType.FLOAT32, (1,))),
    )
    made = quantization(moved.input, rule, 1, _NOWHERE, str)
    find, quantize = made.ops
    scale = Tensor("scale", find.outputs[0].type, np.array([_SCALE], np.float32))  # random ones would be negative
    zero = Tensor("zero_point", made.levels.zero_point.type, np.array([3], np.int8))
    levels = Levels(made.levels.stored, scale, zero)
    quant = Quant((0.01,), (zero_point,))
    weights = Tensor("weights", TensorType(DType.INT8, real.shape, quant), layer.weights.data)
    quantize = replace(quantize, scale=scale, zero_point=zero)
    sums, finish = integer_layer(moved, levels, weights, str)
    bounds = Tensor("bounds", TensorType(DType.FLOAT32, BOUNDS_SHAPE))
    widen = WidenRange(name="", source=_NOWHERE, input=moved.input, before=None, output=bounds)
    yield from (moved, find, quantize, sums, finish, widen)
    yield from quantization(moved.input, RangeRule.LITERT_ASYMMETRIC, 1, _NOWHERE, str).ops[:1]
    in_range = finish.absorbed(replace(find, input=finish.output))
    yield from () if in_range is None else (in_range,)


def _real_tensor(shape: tuple[int, ...]) -> Tensor:
    return Tensor("tensor", TensorType(DType.FLOAT32, shape))


def _with_small_weights(op: Conv2D | FullyConnected) -> Op:
    assert op.weights.data is not None
    return replace(op, weights=replace(op.weights, data=op.weights.data // _TIMES_SMALLER[op.macs // 64 % 2]))


def _in_narrow_blocks(random: Random, op: Op) -> Op:
    assert isinstance(op, Conv2D | FullyConnected) and op.weights.data is not None
    rows = op.by_output(op.weights.data).astype(np.int64)
    for first in range(0, rows.shape[1], BLOCK):
        rows[:, first : first + BLOCK] >>= random.randrange(9)
        rows[:, first : first + BLOCK] *= int(random.random() < _NOT_ZERO)
    return replace(op, weights=replace(op.weights, data=rows.astype(np.int8).reshape(op.weights.shape)))


def _inside(op: Conv2D | DepthwiseConv2D) -> Op:
    """The same rows of the result, with rows of the input instead of padding."""
    _, _, width, channels = op.input.shape
    height = (op.output.shape[1] - 1) * op.stride.h + op.window.kernel.h
    padding = replace(op.padding, top=0, bottom=0)
    return replace(op, input=_tensor((1, height, width, channels)), padding=padding)


def _drawn(
    families: tuple[tuple[int, Callable[[Random], Op]], ...], most: int = _MOST_MACS, least: int = 0
) -> Iterator[Op]:
    random = Random(0)
    for count, draw in families:
        taken = 0
        while taken < count:
            op = draw(random)
            if least <= op.macs <= most:
                taken += 1
                yield op


def _named(op: Op, index: int) -> Op:
    return replace(op, name=f"op{index}", source=Source("calibration", index, type(op).__name__))


_NOWHERE = Source("calibration", 0, "")


def _image(random: Random, channels: int) -> Tensor:
    height = random.choice((1, 2, 3, 4, 6, 8, 12))
    width = random.choice((1, 2, 3, 4, 5, 6, 8, 11, 12, 16, 24, 32, 48))
    return _tensor((1, height, width, channels))


def _convolution(random: Random, kernel: HW, stride: int) -> Op:
    input = _image(random, random.choice((1, 3, *_CHANNELS)))
    return _convolution_of(random.choice((2, 10, *_CHANNELS)), input, kernel, stride)


def _convolution_of(channels: int, input: Tensor, kernel: HW, stride: int) -> Op:
    window, size = _same(input, kernel, HW(stride, stride))
    output = _tensor((1, size.h, size.w, channels))
    weights = _weights((channels, kernel.h, kernel.w, input.shape[3]), axis=0)
    return Conv2D(
        name="",
        source=_NOWHERE,
        input=input,
        weights=weights,
        bias=_bias(channels),
        output=output,
        stride=window.stride,
        dilation=UNIT,
        padding=window.padding,
        clamp=Clamp.none(output.type),
    )


def _depthwise(random: Random, kernel: HW, stride: int) -> Op:
    return _depthwise_of(_image(random, random.choice((3, 6, *_CHANNELS))), 1, kernel, stride)


def _single_channel_depthwise(random: Random) -> Op:
    return _depthwise_of(_image(random, 1), random.choice(_CHANNELS), random.choice(_FILTERS), 1)


def _depthwise_of(input: Tensor, multiplier: int, kernel: HW, stride: int) -> Op:
    channels = input.shape[3] * multiplier
    window, size = _same(input, kernel, HW(stride, stride))
    output = _tensor((1, size.h, size.w, channels))
    return DepthwiseConv2D(
        name="",
        source=_NOWHERE,
        input=input,
        weights=_weights((1, kernel.h, kernel.w, channels), axis=3),
        bias=_bias(channels),
        output=output,
        stride=window.stride,
        dilation=UNIT,
        padding=window.padding,
        clamp=Clamp.none(output.type),
    )


def _fully_connected(random: Random, rows: int = 1, features: int | None = None) -> Op:
    input, units = _tensor((rows, features or random.randrange(8, 640))), random.choice((1, 2, 8, 10, 12, 64, 128))
    output = _tensor((rows, units))
    weights = _weights((units, input.shape[1]), axis=0, scales=random.choice((1, 1, units)))
    clamp = Clamp.none(output.type)
    return FullyConnected(
        name="", source=_NOWHERE, input=input, weights=weights, bias=_bias(units), output=output, clamp=clamp
    )


def _pool(random: Random, kind: type[AveragePool2D] | type[MaxPool2D]) -> Op:
    input = _tensor((1, random.choice((2, 4, 6, 8)), random.choice((2, 4, 6, 12, 24)), random.choice(_CHANNELS)))
    _, height, width, channels = input.shape
    kernel = random.choice((HW(2, 2), HW(height, width)))
    output = _tensor((1, height // kernel.h, width // kernel.w, channels))
    clamp = Clamp.none(output.type)
    return kind(
        name="",
        source=_NOWHERE,
        input=input,
        output=output,
        kernel=kernel,
        stride=kernel,
        padding=NO_PADDING,
        clamp=clamp,
    )


def _binary(random: Random, kind: type[Add] | type[Mul]) -> Op:
    first = _image(random, random.choice(_CHANNELS))
    second, output = _tensor(first.shape), _tensor(first.shape)
    return kind(name="", source=_NOWHERE, first=first, second=second, output=output, clamp=Clamp.none(output.type))


def _softmax(random: Random) -> Op:
    input = _tensor((1, random.randrange(2, 64)))
    output = Tensor("result", TensorType(DType.INT8, input.shape, _PROBABILITY))
    return Softmax(name="", source=_NOWHERE, input=input, output=output, beta=1.0)


def _copy(random: Random) -> Op:
    input = _image(random, random.choice(_CHANNELS))
    return Copy(name="", source=_NOWHERE, input=input, output=_tensor(input.shape))


def _lookup(random: Random) -> Op:
    input = _image(random, random.choice(_CHANNELS))
    table = Tensor("table", TensorType(DType.INT8, (256,)), np.arange(256, dtype=np.uint8).view(np.int8))
    return Lookup(name="", source=_NOWHERE, input=input, table=table, output=_tensor(input.shape))


def _sum_rows(random: Random) -> Op:
    input = _image(random, random.choice(_CHANNELS))
    return SumRows(name="", source=_NOWHERE, input=input, before=None, output=_sums(input.shape[3]))


def _divide_sums(random: Random) -> Op:
    sums = _sums(random.choice(_CHANNELS))
    output = _tensor(sums.shape)
    clamp = Clamp.none(output.type)
    return DivideSums(name="", source=_NOWHERE, input=sums, output=output, count=64, clamp=clamp)


def _add_products(random: Random) -> Op:
    input, units = _image(random, random.choice(_CHANNELS)), random.choice((1, 2, 8, 10, 12, 64, 128))
    return AddProducts(
        name="",
        source=_NOWHERE,
        input=input,
        weights=_weights((units, input.type.elements), axis=0),
        before=None,
        output=_sums(units + 1),
        first_feature=0,
        descending=False,
    )


def _add_channel_products(random: Random) -> Op:
    input, units = _image(random, random.choice(_CHANNELS)), random.choice((1, 2, 8, 10, 12, 24, 64, 128))
    return AddChannelProducts(
        name="",
        source=_NOWHERE,
        input=input,
        weights=_weights((units, input.shape[3]), axis=0),
        before=None,
        output=Tensor("sums", TensorType(DType.INT32, (*input.shape[:3], units))),
    )


def _scale_products(random: Random) -> Op:
    output = _image(random, random.choice(_CHANNELS))
    units = output.shape[3]
    return ScaleProducts(
        name="",
        source=_NOWHERE,
        input=Tensor("sums", TensorType(DType.INT32, output.shape)),
        bias=_bias(units),
        output=output,
        multipliers=(1 << 30,) * units,
        shifts=(-9,) * units,
        clamp=Clamp.none(output.type),
    )


def _sums(channels: int) -> Tensor:
    return Tensor("sums", TensorType(DType.INT32, (1, 1, 1, channels)))


def _tensor(shape: tuple[int, ...]) -> Tensor:
    return Tensor("tensor", TensorType(DType.INT8, shape, _ACTIVATION))


def _weights(shape: tuple[int, ...], axis: int, scales: int | None = None) -> Tensor:
    """Weights whose products fill the range of the output, so that kernels requantize as in a trained network."""
    count = shape[axis] if scales is None else scales
    scale = float(np.float32(1 / (74 * (np.prod(shape) / shape[axis]) ** 0.5)))
    quant = Quant((scale,) * count, (0,) * count, axis if count > 1 else None)
    data = np.random.default_rng(0).integers(-127, 128, shape, np.int8)
    return Tensor("weights", TensorType(DType.INT8, shape, quant), data)


def _bias(channels: int) -> Tensor:
    return Tensor("bias", TensorType(DType.INT32, (channels,)), np.arange(channels, dtype=np.int32))


def _same(input: Tensor, kernel: HW, stride: HW) -> tuple[Window, HW]:
    size = HW(*input.shape[1:3])
    window = Window(kernel, stride, UNIT, padding_for(PaddingMode.SAME, size, kernel, stride, UNIT))
    return window, window.output_size(size.h, size.w)
