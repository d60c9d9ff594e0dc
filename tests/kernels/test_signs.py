"""Layers of signs with signs: packing, references against onnxruntime, and the C on boards."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import evaluate
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.schedules import run_schedule
from tests.support.tools import requires_qemu
from tinygen.ir.graph import Graph, Op, Port, Source, Values
from tinygen.ir.signs import pack_signs, unpack_signs, words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.window import HW, Padding
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

CLAMP = Clamp(-128, 127)
LAYERS = 36
BOARDS = [
    "host",
    *(
        pytest.param(board, marks=[requires_qemu, pytest.mark.qemu])
        for board in ("microbit", "mps2-an385", "mps2-an386", "mps3-an547")
    ),
]


@given(st.integers(1, 100), st.integers(1, 4), st.integers(0, 2**31))
def test_packing_is_undone_by_unpacking(depth: int, pixels: int, seed: int) -> None:
    signs = np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), (pixels, depth))
    words = pack_signs(signs)
    assert words.shape == (pixels, words_of(depth)) == (pixels, -(-depth // 32))
    assert np.array_equal(unpack_signs(words, depth), signs)


def test_the_first_sign_is_the_lowest_bit_and_pixels_begin_in_a_word() -> None:
    signs = np.array([[1, -1, -1, 1] + [-1] * 28 + [1], [-1] * 33])
    assert pack_signs(signs).tolist() == [[0b1001, 1], [0, 0]]
    assert pack_signs(signs)[:1].astype("<u4").tobytes() == bytes([0b1001, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("scale", "zero_point", "threshold"),
    [(0.7, 0, 10), (0.7, -1, 24), (0.74, -1, 25), (0.75, -1, 25), (0.76, -1, 26), (1e3, -1, 128)],
)
def test_the_threshold_is_the_middle_of_both_values(scale: float, zero_point: int, threshold: int) -> None:
    source = TensorType(DType.INT8, (1, 256), Quant((0.05,), (10,)))
    values = np.arange(-128, 128).astype(np.int8).reshape(1, 256)
    op = PackSigns(
        name="cast",
        source=Source("net", 0, "CAST 'cast'"),
        input=Tensor("x", source),
        output=Tensor("y", TensorType(DType.SIGNS, (1, 8), Quant((scale,), (zero_point,), bits=1))),
    )
    op.verify()
    assert op.threshold == threshold
    (words,) = op.evaluate(Values({op.input: values}.__getitem__))
    low, high = (scale * (sign - zero_point) for sign in (-1, 1))
    real = 0.05 * (values.astype(np.float64) - 10)
    nearer = np.where(np.abs(real - low) >= np.abs(real - high) - 1e-9, 1, -1)
    assert np.array_equal(unpack_signs(words.astype(np.uint32), 256), nearer)


class _Layers:
    """Random layers side by side, each with an input of its own that is cast to signs."""

    def __init__(self, seed: int, zero_point: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self._zero_point = zero_point
        self.ops: list[Op] = []
        self.inputs: list[Tensor] = []

    def graph(self) -> Graph:
        results = [op.results[0] for op in self.ops if not isinstance(op, PackSigns)]
        inputs, outputs = (tuple(Port(t.name, t, t.type) for t in side) for side in (self.inputs, results))
        return Graph("layers", inputs, outputs, tuple(self.ops))

    def values(self) -> list[Array]:
        """Extreme values now and then."""
        found: list[Array] = [self.rng.integers(t.type.min, t.type.max, t.shape, t.type.dtype.numpy, True)
                              for t in self.inputs]  # fmt: skip
        found[0][:] = -128
        return found

    def _between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def _source(self) -> Source:
        return Source("net", len(self.ops), f"OP 'op{len(self.ops)}'")

    def _signs(self, shape: tuple[int, ...]) -> Tensor:
        number = len(self.ops)
        is_wide = self.rng.random() < 0.3
        dtype, zero = (DType.INT16, 0) if is_wide else (DType.INT8, self._between(-128, 127))
        input = Tensor(f"x{number}", TensorType(dtype, shape, Quant((0.02,), (zero,))))
        zero_point = -self._between(0, 1) if self._zero_point is None else self._zero_point
        type = TensorType(DType.SIGNS, (*shape[:-1], words_of(shape[-1])), Quant((0.7,), (zero_point,), bits=1))
        cast = PackSigns(name=f"cast{number}", source=self._source(), input=input, output=Tensor(f"s{number}", type))
        cast.verify()
        self.inputs.append(input)
        self.ops.append(cast)
        return cast.output

    def _constants(self, shape: tuple[int, ...]) -> tuple[Tensor, Tensor | None]:
        channels, number = shape[0], len(self.ops)
        scales = tuple(self.rng.uniform(0.002, 0.05, channels).tolist())
        data = self.rng.choice(np.array([-1, 1], np.int8), shape)
        weights = Tensor(f"w{number}", TensorType(DType.INT1, shape, Quant(scales, (0,) * channels, 0)), data)
        if self.rng.random() < 0.3:
            return weights, None
        bias = self.rng.integers(-50, 50, channels, np.int32)
        return weights, Tensor(f"b{number}", TensorType(DType.INT32, (channels,)), bias)

    def _output(self, shape: tuple[int, ...]) -> Tensor:
        zero_point = self._between(-128, 127)
        return Tensor(f"y{len(self.ops)}", TensorType(DType.INT8, shape, Quant((0.05,), (zero_point,))))

    def convolution(self) -> None:
        kernel, stride = ([1, 1] if self.rng.random() < 0.3 else self.rng.integers(1, 4, 2)), self.rng.integers(1, 3, 2)
        dilation = [1, 1] if self.rng.random() < 0.7 else self.rng.integers(1, 3, 2)
        sizes, pads, results = [], [], []
        for k, s, d in zip(kernel, stride, dilation, strict=True):
            extent = (int(k) - 1) * int(d) + 1
            before, after = (self._between(0, extent - 1) for _ in range(2))
            size = self._between(max(1, extent - before - after), 7)
            sizes.append(size)
            pads.append((before, after))
            results.append((size + before + after - extent) // int(s) + 1)
        depth = self._between(1, 80)
        signs = self._signs((self._between(1, 2), *sizes, depth))
        weights, bias = self._constants((self._between(1, 9), int(kernel[0]), int(kernel[1]), depth))
        op = SignConv2D(
            name=f"op{len(self.ops)}", source=self._source(), input=signs, weights=weights, bias=bias,
            output=self._output((signs.shape[0], *results, weights.shape[0])),
            stride=HW(int(stride[0]), int(stride[1])), dilation=HW(int(dilation[0]), int(dilation[1])),
            padding=Padding(*pads[0], *pads[1]), clamp=CLAMP,
        )  # fmt: skip
        op.verify()
        self.ops.append(op)

    def fully_connected(self) -> None:
        depth, pixels, rows = self._between(1, 70), self._between(1, 4), self._between(1, 3)
        signs = self._signs((rows, pixels, depth))
        weights, bias = self._constants((self._between(1, 17), pixels * depth))
        op = SignFullyConnected(
            name=f"op{len(self.ops)}", source=self._source(), input=signs, weights=weights, bias=bias, depth=depth,
            output=self._output((rows, weights.shape[0])), clamp=CLAMP,
        )  # fmt: skip
        op.verify()
        self.ops.append(op)


def _layers(seed: int, count: int, zero_point: int | None = None) -> _Layers:
    layers = _Layers(seed, zero_point)
    for number in range(count):
        (layers.convolution if number % 3 else layers.fully_connected)()
    return layers


@pytest.mark.parametrize("target", BOARDS)
def test_layers_run(target: str, tmp_path: Path) -> None:
    board = load(target)
    layers = _layers(len(target), LAYERS // 6 if target == "microbit" else LAYERS)
    graph, inputs = layers.graph(), layers.values()
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa), PlanRequest())
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [inputs])
    expected = evaluate(graph, inputs)
    for tensor, output in zip(graph.output_tensors, outputs, strict=True):
        assert np.array_equal(output, expected[tensor]), graph.producers[tensor]
    used = {call.kernel.function for call in schedule.calls}
    assert {"tg_convolve_signs_s8", "tg_pack_signs_s8"} <= used


def _sums_of_onnxruntime(op: SignConv2D | SignFullyConnected, real: Float32Array, file: Path) -> Float32Array:
    """Conv or MatMul in float32 on -1 and 1 (or 0 and 2), exact as all sums are small integers."""
    assert op.weights.data is not None
    weights, writer = op.weights.data.astype(np.float32), OnnxWriter()
    if isinstance(op, SignConv2D):
        fed, constant, pad = real.transpose(0, 3, 1, 2), weights.transpose(0, 3, 1, 2), op.padding
        attributes = {
            "strides": [op.stride.h, op.stride.w],
            "dilations": [op.dilation.h, op.dilation.w],
            "pads": [pad.top, pad.left, pad.bottom, pad.right],
        }
        operands = [writer.port(fed.shape, name="x"), writer.constant(np.ascontiguousarray(constant))]
        writer.output(writer.node("Conv", operands, attributes))
    else:
        fed = real.reshape(op.rows, -1)
        operands = [writer.port(fed.shape, name="x"), writer.constant(np.ascontiguousarray(weights.T))]
        writer.output(writer.node("MatMul", operands))
    file.write_bytes(writer.finish())
    [found] = run_onnxruntime(file, [np.ascontiguousarray(fed)])
    sums = found.astype(np.float32)
    return np.moveaxis(sums, 1, -1) if isinstance(op, SignConv2D) else sums


@needs_onnxruntime
@pytest.mark.parametrize("zero_point", [0, -1])
def test_sums_are_those_of_onnxruntime(zero_point: int, tmp_path: Path) -> None:
    layers = _layers(7, LAYERS, zero_point)
    values = evaluate(layers.graph(), layers.values())
    for op in layers.ops:
        if not isinstance(op, SignConv2D | SignFullyConnected):
            continue
        depth = op.weights.shape[3] if isinstance(op, SignConv2D) else op.depth
        signs = unpack_signs(values[op.input].astype(np.uint32), depth)
        real = (signs - zero_point).astype(np.float32)  # the scale is left out: sums are integers
        sums = _sums_of_onnxruntime(op, real, tmp_path / f"{op.name}.onnx")
        expected = op.output_stage.finish(np.rint(sums).astype(np.int64)).reshape(op.output.shape)
        assert np.array_equal(sums, np.rint(sums))
        assert np.array_equal(values[op.output], expected), op


def test_packed_bytes_are_counted() -> None:
    type = TensorType(DType.SIGNS, (1, 5, 5, words_of(40)), Quant((1.0,), (0,), bits=1))
    assert type.bytes == 5 * 5 * 2 * 4
