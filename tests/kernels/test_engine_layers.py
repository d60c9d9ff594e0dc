"""Layers of engines beside the core: the reference against plain loops, the C emulation against the reference."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.support.reference import evaluate
from tests.support.schedules import run_schedule
from tests.support.tools import requires_qemu
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.engine_layer import NOISE_SIGMA, AnalogSums, Arithmetic, EngineLayer, noise, noise_gain
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.weighted import LayerKind
from tinygen.ops.window import HW, Padding
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load
from tinygen.targets.engine import Overflow, Requantization

LAYERS = 60
TARGETS = [
    "host",
    pytest.param("mps2-an386", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", marks=[requires_qemu, pytest.mark.qemu]),
]
SOURCE = Source("model.tflite", 0, "CONV_2D")
WEIGHTS = (DType.INT8, DType.INT4, DType.INT2, DType.INT1)
ROUNDINGS = {
    DType.INT8: tuple(Requantization),
    DType.INT16: (Requantization.SINGLE, Requantization.SHIFT),
}


class _Layers:
    """Random layers side by side, each with an input of its own."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.ops: list[EngineLayer] = []

    def graph(self) -> Graph:
        inputs = tuple(Port(op.input.name, op.input, op.input.type) for op in self.ops)
        outputs = tuple(Port(op.output.name, op.output, op.output.type) for op in self.ops)
        return Graph("layers", inputs, outputs, tuple(self.ops))

    def values(self) -> list[Array]:
        """Extreme values in the first."""
        found = [self.integers(op.input.type.dtype, op.input.shape) for op in self.ops]
        found[0][:] = -128
        return found

    def add(self, kind: LayerKind, dtype: DType, rounding: Requantization) -> None:
        """A layer whose results do not saturate all."""
        number, weights = len(self.ops), WEIGHTS[len(self.ops) % 4] if dtype is DType.INT8 else DType.INT8
        stride, dilation, kernel = HW(*self._pair(1, 2)), HW(*self._pair(1, 2)), HW(*self._pair(1, 3))
        groups, multiplier, depth = self._between(1, 2), self._between(1, 2), self._between(1, 5)
        padding = Padding(*(self._between(0, 1) for _ in range(4)))
        batches, (height, width) = self._between(1, 2), self._pair(6, 7)
        shape: tuple[int, ...]
        match kind:
            case LayerKind.CONV_2D:
                channels, outputs = groups * depth, groups * multiplier * 2
                shape, axis = (outputs, kernel.h, kernel.w, depth), 0
            case LayerKind.DEPTHWISE_CONV_2D:
                channels, outputs = depth, depth * multiplier
                shape, axis = (1, kernel.h, kernel.w, outputs), 3
            case _:
                stride = dilation = kernel = HW(1, 1)
                padding, channels, outputs = Padding(0, 0, 0, 0), 8 * depth, 7
                shape, axis, height = (outputs, channels), 0, 1
        size = [
            (total + before + after - (step - 1) * spread - 1) // across + 1
            for total, before, after, step, spread, across in (
                (height, padding.top, padding.bottom, kernel.h, dilation.h, stride.h),
                (width, padding.left, padding.right, kernel.w, dilation.w, stride.w),
            )
        ]
        zero_point, output_zero = (0, 0) if dtype is DType.INT16 else (self._between(-128, 127), self._between(-9, 9))
        filters = Tensor(f"w{number}", *self._weights(weights, shape, axis, rounding))
        sums = np.prod(shape) / outputs * dtype.max * weights.max / 3
        scale = 2.0 ** round(np.log2(sums / dtype.max)) * 2.0**-8
        bias = None
        if self._between(0, 2):
            wide = DType.INT64 if dtype is DType.INT16 else DType.INT32
            values = self._rng.integers(-3000, 3000, outputs).astype(wide.numpy)
            bias = Tensor(f"b{number}", TensorType(wide, (outputs,)), values)
        flat = kind is LayerKind.FULLY_CONNECTED
        in_shape = (batches, width * channels) if flat else (batches, height, width, channels)
        out_shape = (batches, width * outputs) if flat else (batches, *size, outputs)
        arithmetic, analog = self._arithmetic(dtype, rounding, int(sums))
        self.ops.append(
            EngineLayer(
                name=f"layer{number}",
                source=SOURCE,
                input=Tensor(f"x{number}", TensorType(dtype, in_shape, Quant((2.0**-3,), (zero_point,)))),
                weights=filters,
                bias=bias,
                output=Tensor(f"y{number}", TensorType(dtype, out_shape, Quant((scale,), (output_zero,)))),
                layer=kind,
                stride=stride,
                padding=padding,
                dilation=dilation,
                clamp=Clamp(dtype.min, dtype.max) if self._between(0, 1) else Clamp(-90, 101),
                engine="npu",
                prefix=f"npu{'_wide' if dtype is DType.INT16 else ''}_",
                arithmetic=arithmetic,
                analog=analog,
            )
        )
        self.ops[-1].verify()

    def _arithmetic(self, dtype: DType, rounding: Requantization, sums: int) -> tuple[Arithmetic, AnalogSums | None]:
        overflow = Overflow.SATURATE if self._between(0, 1) else Overflow.WRAP
        bits = min(max(sums.bit_length() + self._between(-2, 2), 12), 32 if dtype is DType.INT8 else 64)
        analog = None
        if dtype is DType.INT8 and self._between(0, 1):
            shift = self._between(0, 8)
            gain = noise_gain(float(self._rng.choice([0.0, 0.7, 3.0])), shift)
            seed = int(self._rng.integers(2**32))
            analog = AnalogSums(self._between(1, 9), self._between(4, 9), shift, gain, seed)
        return Arithmetic(bits, overflow, rounding), analog

    def _weights(
        self, dtype: DType, shape: tuple[int, ...], axis: int, rounding: Requantization
    ) -> tuple[TensorType, Array]:
        count = shape[axis] if self._between(0, 1) else 1
        scales = 2.0 ** self._rng.integers(-6, -3, count)
        if rounding is not Requantization.SHIFT:
            scales = scales * self._rng.uniform(0.6, 1.4, count)
        quant = Quant(tuple(map(float, scales)), (0,) * count, axis if count > 1 else None)
        return TensorType(dtype, shape, quant), self.integers(dtype, shape)

    def integers(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Any values of a type."""
        if dtype is DType.INT1:
            return self._rng.choice(np.array([-1, 1], np.int8), shape)
        return self._rng.integers(dtype.min, dtype.max + 1, shape).astype(dtype.numpy)

    def _between(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def _pair(self, low: int, high: int) -> tuple[int, int]:
        return self._between(low, high), self._between(low, high)


def _layers(seed: int, count: int) -> _Layers:
    layers = _Layers(seed)
    kinds = [(kind, dtype, r) for dtype, found in ROUNDINGS.items() for kind, r in product(LayerKind, found)]
    for number in range(count):
        layers.add(*kinds[number % len(kinds)])
    return layers


def _expected(op: EngineLayer, values: Array) -> Array:
    """The results by one loop for each product, with Python's integers."""
    assert op.weights.data is not None
    filters = np.moveaxis(op.weights.data, op.channel_axis, 0)
    if op.layer is LayerKind.DEPTHWISE_CONV_2D:
        filters = filters.reshape(len(filters), *op.weights.shape[1:3], 1)
    filters = filters.reshape(len(filters), *((1, 1, -1) if filters.ndim == 2 else filters.shape[1:]))
    _, height, width, channels = op.image
    image = values.reshape(op.image)
    outputs, rows, columns, depth = filters.shape
    found = np.zeros(op.result, np.int64)
    for n, y, x, c in np.ndindex(*op.result):
        group = c // (outputs // (channels // depth))
        products = []
        for i, j, k in np.ndindex(rows, columns, depth):
            row, column = (
                y * op.stride.h - op.padding.top + i * op.dilation.h,
                x * op.stride.w - op.padding.left + j * op.dilation.w,
            )
            inside = 0 <= row < height and 0 <= column < width
            value = int(image[n, row, column, group * depth + k]) - op.input.type.zero_point if inside else 0
            products.append(value * int(filters[c, i, j, k]))
        found[n, y, x, c] = _stored(op, products, y * op.result[2] + x, c)
    return found.reshape(op.output.shape).astype(op.output.type.dtype.numpy)


def _stored(op: EngineLayer, products: list[int], pixel: int, channel: int) -> int:
    total = 0
    if op.analog is None:
        for product_ in products:
            total = _held(op, total + product_)
    else:
        rows = op.analog.rows
        blocks = -(-len(products) // rows)
        for block in range(blocks):
            cell = (pixel * blocks + block) * op.channels + channel
            current = sum(products[block * rows : (block + 1) * rows]) + _noise(op.analog, cell)
            total = _held(op, total + _converted(op.analog, current))
    if op.bias is not None and op.bias.data is not None:
        total = _held(op, total + int(op.bias.data[channel]))
    quant = op.weights.type.quant
    assert quant is not None
    scale = quant.scales[channel if len(quant.scales) > 1 else 0]
    real = op.input.type.scale * scale / op.output.type.scale
    return int(min(max(_scaled(op, total, real) + op.output.type.zero_point, op.clamp.min), op.clamp.max))


def _scaled(op: EngineLayer, total: int, real: float) -> int:
    fraction, exponent = np.frexp(real)
    multiplier, shift = int(np.floor(fraction * 2**31 + 0.5)), int(exponent)
    if op.arithmetic.rounding is Requantization.SHIFT:
        return int(np.floor(total * real + 0.5))
    if op.output.type.dtype is DType.INT16:
        reduced = min((multiplier + (1 << 15)) >> 16, 32767)
        return (total * reduced + (1 << (14 - shift))) >> (15 - shift)
    if op.arithmetic.rounding is Requantization.SINGLE:
        return (total * multiplier + (1 << (30 - shift))) >> (31 - shift)
    value = total << max(shift, 0)
    high = (value * multiplier + (1 << 30)) >> 31
    right = max(-shift, 0)
    half = (1 << right) >> 1
    return (high + half) >> right if high >= 0 else -((-high + half) >> right)


def _held(op: EngineLayer, total: int) -> int:
    limit = 1 << (op.arithmetic.accumulator_bits - 1)
    if op.arithmetic.overflow is Overflow.SATURATE:
        return min(max(total, -limit), limit - 1)
    return (total + limit) % (2 * limit) - limit


def _noise(analog: AnalogSums, cell: int) -> int:
    mixed = analog.seed ^ (cell * 0x9E3779B9 & 0xFFFFFFFF)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return ((sum(mixed.to_bytes(4, "little")) - 510) * analog.noise_gain + (1 << 15)) >> 16


def _converted(analog: AnalogSums, current: int) -> int:
    code = (current + ((1 << analog.adc_shift) >> 1)) >> analog.adc_shift
    limit = 1 << (analog.adc_bits - 1)
    return min(max(code, -limit), limit - 1) << analog.adc_shift


def test_the_reference_is_what_plain_loops_compute() -> None:
    layers = _layers(3, LAYERS)
    values = layers.values()
    found = evaluate(layers.graph(), values)
    varied = 0
    for op, x, y in zip(layers.ops, values, found, strict=True):
        np.testing.assert_array_equal(y, _expected(op, x), err_msg=str(op))
        varied += len(np.unique(y)) > 5
    assert varied > LAYERS // 2
    assert sum(op.analog is not None for op in layers.ops) > 5


@pytest.mark.parametrize("target", TARGETS)
def test_the_emulation_is_the_reference(target: str, tmp_path: Path) -> None:
    layers = _layers(4, LAYERS)
    graph, values, board = layers.graph(), layers.values(), load(target)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa), PlanRequest())
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [values])
    for op, found, wanted in zip(layers.ops, outputs, evaluate(graph, values), strict=True):
        np.testing.assert_array_equal(found.reshape(wanted.shape), wanted, err_msg=op.name)


@pytest.mark.parametrize("kind", list(LayerKind))
def test_with_the_cpus_datapath_it_is_the_cpus_layer(kind: LayerKind) -> None:
    layers = _Layers(5)
    while len(layers.ops) < 12:
        layers.add(kind, DType.INT8, Requantization.DOUBLE)
    for op in layers.ops:
        engine = replace(op, arithmetic=Arithmetic(32, Overflow.WRAP, Requantization.DOUBLE), analog=None)
        values = layers.integers(DType.INT8, op.input.shape)
        np.testing.assert_array_equal(_alone(engine, values), _alone(_of_cpu(op), values))


def _of_cpu(op: EngineLayer) -> Op:
    """The same layer as the CPU's operator."""
    if op.layer is LayerKind.FULLY_CONNECTED:
        return FullyConnected(
            name=op.name,
            source=op.source,
            input=op.input,
            weights=op.weights,
            bias=op.bias,
            output=op.output,
            clamp=op.clamp,
        )
    kind = Conv2D if op.layer is LayerKind.CONV_2D else DepthwiseConv2D
    return kind(
        name=op.name,
        source=op.source,
        input=op.input,
        weights=op.weights,
        bias=op.bias,
        output=op.output,
        clamp=op.clamp,
        stride=op.stride,
        padding=op.padding,
        dilation=op.dilation,
    )


@pytest.mark.parametrize("dtype", list(ROUNDINGS))
def test_rows_are_those_of_the_whole(dtype: DType) -> None:
    layers, compared = _Layers(7), 0
    while len(layers.ops) < 80:
        kind = LayerKind.DEPTHWISE_CONV_2D if len(layers.ops) % 2 else LayerKind.CONV_2D
        layers.add(kind, dtype, ROUNDINGS[dtype][len(layers.ops) % len(ROUNDINGS[dtype])])
    for op in layers.ops:
        is_noisy = op.analog is not None and op.analog.noise_gain != 0
        values, height = layers.integers(dtype, op.input.shape), op.output.shape[1]
        whole = _alone(op, values)
        for rows in [Rows(first, end) for first in range(height) for end in range(first + 1, height + 1)]:
            tile = op.tile(rows)
            if is_noisy or op.output.shape[0] > 1:
                assert tile is None
            elif tile is not None:  # None: they are made of padding alone
                tile.op.verify()
                part = values[:, tile.operands[0].rows.first : tile.operands[0].rows.end]
                np.testing.assert_array_equal(_alone(tile.op, part), whole[:, rows.first : rows.end])
                compared += 1
    assert compared > 150


def test_a_fully_connected_layer_has_no_rows() -> None:
    layers = _Layers(8)
    layers.add(LayerKind.FULLY_CONNECTED, DType.INT8, Requantization.DOUBLE)
    assert layers.ops[0].tile(Rows(0, 1)) is None


def _alone(op: Op, values: Array) -> Array:
    (input,), (output,) = op.variable_operands, op.results
    graph = Graph("alone", (Port("x", input, input.type),), (Port("y", output, output.type),), (op,))
    return evaluate(graph, [values])[0]


def test_s0_30_noise_has_the_deviation_that_is_asked_for() -> None:
    analog = AnalogSums(rows=64, adc_bits=6, adc_shift=7, noise_gain=noise_gain(0.5, 7), seed=9)
    found = noise(analog, np.arange(100_000))
    assert abs(found.mean()) < 1
    assert found.std() == pytest.approx(0.5 * 2**7, rel=0.02)
    assert np.corrcoef(found[:-1], found[1:])[0, 1] == pytest.approx(0, abs=0.02)
    assert pytest.approx(147.8, abs=0.01) == NOISE_SIGMA
    other = noise(AnalogSums(64, 6, 7, noise_gain(0.5, 7), seed=10), np.arange(100_000))
    assert np.corrcoef(found, other)[0, 1] == pytest.approx(0, abs=0.02)


def test_shifts_want_powers_of_two() -> None:
    layers = _Layers(6)
    layers.add(LayerKind.CONV_2D, DType.INT8, Requantization.SHIFT)
    op = layers.ops[0]
    crooked = Tensor("y", TensorType(DType.INT8, op.output.shape, Quant((0.3,), (0,))))
    with pytest.raises(ValueError, match="powers of two were expected of engine 'npu', which shifts"):
        replace(op, output=crooked).verify()
