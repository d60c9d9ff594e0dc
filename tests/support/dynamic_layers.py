"""Layers on levels that are quantized at run time, of all kinds side by side in one graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_dequantize import DynamicDequantize
from tinygen.ops.dynamic_layer import Layer, integer_layer, quantization
from tinygen.ops.dynamic_quantize import RangeRule
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.integer_batch_matmul import IntegerBatchMatMul
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding, Window

_CLAMPS = (UNLIMITED, Clamp(0.0, float("inf")), Clamp(0.0, 6.0))
_PADDED = Padding(1, 1, 1, 1)


@dataclass(frozen=True)
class Kind:
    """One layer's form."""

    input: tuple[int, ...]
    weights: tuple[int, ...]
    is_depthwise: bool = False
    stride: HW = UNIT
    dilation: HW = UNIT
    padding: Padding = NO_PADDING
    rows: int = 1  # that have a scale of their own


KINDS = (
    Kind((1, 70), (9, 70)),
    Kind((3, 33), (4, 33), rows=3),
    Kind((5, 16), (3, 16)),
    Kind((1, 5, 6, 7), (5, 1, 1, 7)),
    Kind((2, 5, 6, 3), (6, 3, 2, 3), padding=_PADDED, rows=2),
    Kind((1, 7, 7, 4), (8, 3, 3, 2), stride=HW(2, 1), padding=_PADDED),
    Kind((1, 9, 5, 2), (3, 3, 1, 2), dilation=HW(2, 1)),
    Kind((1, 6, 5, 13), (1, 3, 3, 13), is_depthwise=True, padding=_PADDED),
    Kind((2, 6, 5, 8), (1, 2, 3, 8), is_depthwise=True, stride=HW(2, 2), padding=Padding(0, 1, 2, 0), rows=2),
    Kind((1, 4, 4, 3), (1, 3, 3, 6), is_depthwise=True, padding=_PADDED),
)


def side_by_side(seed: int) -> Graph:
    """Each kind with each rule, with zero points of weights per channel, per tensor, or none.

    Where all of a layer has one scale, scale and zero point of its result stand beside it.
    """
    random, number = np.random.default_rng(seed), count()
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    ops: list[Op] = []
    for kind in KINDS:
        for rule in RangeRule:
            index = next(number)
            input = Tensor(f"x{index}", TensorType(DType.FLOAT32, kind.input))
            inputs.append(input)
            ops += _ops(kind, rule, input, index, random)
            outputs.append(ops[-1].results[0])
            if kind.rows == 1:
                found = quantization(outputs[-1], rule, 1, ops[-1].source, f"{{}}_of_result{index}".format).ops[0]
                ops.append(found)
                outputs += found.outputs
    return Graph("side_by_side", _ports(inputs), _ports(outputs), tuple(ops))


def _ports(tensors: list[Tensor]) -> tuple[Port, ...]:
    return tuple(Port(tensor.name, tensor, tensor.type) for tensor in tensors)


@dataclass(frozen=True)
class Pair:
    """Matrices to be multiplied: whether they are transposed, and how many zero points they have."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    transposed: tuple[bool, bool] = (False, False)
    zero_points: tuple[int, int] = (1, 1)


PAIRS = (
    Pair((1, 1), (1, 1)),
    Pair((3, 600), (600, 5)),
    Pair((2, 3, 7), (2, 4, 7), (False, True)),
    Pair((2, 7, 3), (7, 4), (True, False), (3, 4)),
    Pair((2, 1, 3, 5), (2, 4, 5, 2), zero_points=(1, 2)),
    Pair((5, 3), (2, 3, 4), zero_points=(5, 1)),
    Pair((1, 34_000), (34_000, 1)),  # sums may wrap around
)


def products_side_by_side() -> Graph:
    """Products of all pairs, all of whose operands come from the application."""
    ops = tuple(_product(pair, number) for number, pair in enumerate(PAIRS))
    inputs = [tensor for op in ops for tensor in op.operands]
    return Graph("products", _ports(inputs), _ports([op.output for op in ops]), ops)


def _product(pair: Pair, number: int) -> IntegerBatchMatMul:
    shapes = (pair.first, pair.second, *((count,) for count in pair.zero_points))
    first, second, *zero_points = (
        Tensor(f"{role}{number}", TensorType(DType.INT8, shape)) for role, shape in zip("abyz", shapes, strict=True)
    )
    batches = np.broadcast_shapes(pair.first[:-2], pair.second[:-2])
    sizes = (pair.first[-1 if pair.transposed[0] else -2], pair.second[-2 if pair.transposed[1] else -1])
    return IntegerBatchMatMul(
        name=f"product{number}",
        source=Source("products", number, "PRODUCT"),
        first=first,
        second=second,
        first_zero_point=zero_points[0],
        second_zero_point=zero_points[1],
        output=Tensor(f"sums{number}", TensorType(DType.INT32, (*batches, *sizes))),
        transpose_first=pair.transposed[0],
        transpose_second=pair.transposed[1],
    )


def stored_numbers(graph: Graph, seed: int) -> list[Array]:
    """int8 for all inputs; of the longest ones the smallest number, and the largest as the zero point beside them."""
    random = np.random.default_rng(seed)
    drawn: list[Array] = [random.integers(-128, 128, port.tensor.shape).astype(np.int8) for port in graph.inputs]
    drawn[-4:] = [np.full_like(array, 127 if array.size == 1 else -128) for array in drawn[-4:]]
    return drawn


def samples(graph: Graph, seed: int, number: int) -> Iterator[list[Array]]:
    """Numbers of many magnitudes, about 0 and beside it; zeros alone in between."""
    random = np.random.default_rng(seed)
    for sample in range(number):
        yield [
            _drawn(random, port.tensor.shape, is_zero=(sample + place) % 11 == 10)
            for place, port in enumerate(graph.inputs)
        ]


def _drawn(random: np.random.Generator, shape: tuple[int, ...], is_zero: bool) -> Array:
    width, middle = 10.0 ** random.integers(-6, 6), random.choice([0.0, 0.0, 2.0, -3.0])
    drawn = random.normal(size=shape) * width + middle * width
    return np.zeros(shape, np.float32) if is_zero else drawn.astype(np.float32)


def _ops(kind: Kind, rule: RangeRule, input: Tensor, index: int, random: np.random.Generator) -> tuple[Op, ...]:
    source = Source("side_by_side", index, f"LAYER '{index}'")
    layer = _layer(kind, input, source, random)
    axis = layer.filters.channel_axis
    stored = random.integers(-127, 128, kind.weights).astype(np.int8)
    scales = random.uniform(0.001, 0.1, kind.weights[axis] if index % 2 else 1).astype(np.float32)
    zero_points = (random.integers(-128, 128, scales.size) if index % 3 == 0 else np.zeros(scales.size)).astype(int)
    quant = Quant(tuple(map(float, scales)), tuple(map(int, zero_points)), axis if scales.size > 1 else None)
    weights = Tensor(f"w{index}", TensorType(DType.INT8, kind.weights, quant), stored)

    def name(role: str) -> str:
        return f"{role}{index}"

    made = quantization(input, rule, kind.rows, source, name)
    if index == 1:  # levels are real numbers for others too
        back = Tensor("back", input.type)
        levels, scale, zero_point = made.levels.stored, made.levels.scale, made.levels.zero_point
        again = DynamicDequantize(
            name="back", source=source, input=levels, scale=scale, zero_point=zero_point, output=back
        )
        return (*made.ops, again)
    return (*made.ops, *integer_layer(layer, made.levels, weights, name, factors_first=index % 4 == 1))


def _layer(kind: Kind, input: Tensor, source: Source, random: np.random.Generator) -> Layer:
    channels = kind.weights[3 if kind.is_depthwise else 0]
    number = source.index
    bias = random.normal(size=channels).astype(np.float32)
    held = Tensor(f"b{number}", TensorType(DType.FLOAT32, bias.shape), bias) if number % 5 else None
    weights = Tensor(f"real{number}", TensorType(DType.FLOAT32, kind.weights), np.zeros(kind.weights, np.float32))
    clamp = _CLAMPS[number % len(_CLAMPS)]
    if len(kind.weights) == 2:
        output = Tensor(f"y{number}", TensorType(DType.FLOAT32, (*kind.input[:-1], channels)))
        return FullyConnected(
            name=output.name, source=source, input=input, weights=weights, bias=held, output=output, clamp=clamp
        )
    window = Window(HW(*kind.weights[1:3]), kind.stride, kind.dilation, kind.padding)
    size = window.output_size(*kind.input[1:3])
    output = Tensor(f"y{number}", TensorType(DType.FLOAT32, (kind.input[0], size.h, size.w, channels)))
    make = DepthwiseConv2D if kind.is_depthwise else Conv2D
    return make(
        name=output.name,
        source=source,
        input=input,
        weights=weights,
        bias=held,
        output=output,
        stride=kind.stride,
        dilation=kind.dilation,
        padding=kind.padding,
        clamp=clamp,
    )


def in_a_row(seed: int, rule: RangeRule) -> Graph:
    """Three convolutions, one of them depthwise, and a mean of all rows but the last one, then a layer of vectors."""
    random, number = np.random.default_rng(seed), count()
    first = Tensor("x", TensorType(DType.FLOAT32, (1, 17, 4, 3)))
    kinds = (
        Kind((1, 17, 4, 3), (16, 3, 3, 3), padding=_PADDED),
        Kind((1, 17, 4, 16), (1, 3, 3, 16), is_depthwise=True, stride=HW(2, 1), padding=_PADDED),
        Kind((1, 9, 4, 16), (24, 1, 1, 16)),
    )
    ops: list[Op] = []
    input = first
    for kind in kinds:
        ops += _ops(kind, rule, input, 3 + next(number), random)
        input = ops[-1].results[0]
    source = Source("in_a_row", len(kinds), "MEAN")
    mean = Tensor("mean", TensorType(DType.FLOAT32, (1, 1, 1, 24)))
    ops.append(
        AveragePool2D(
            name="mean",
            source=source,
            input=input,
            output=mean,
            kernel=HW(8, 4),
            stride=HW(8, 4),
            padding=NO_PADDING,
            clamp=Clamp(-1e30, 1e30),
        )
    )
    ops += _ops(Kind((1, 1, 1, 24), (5, 24)), rule, mean, 3 + next(number), random)
    return Graph("in_a_row", _ports([first]), _ports([ops[-1].results[0]]), tuple(ops))
