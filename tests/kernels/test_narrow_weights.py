"""Weights of four, two and one bits: packed as the formats say, computed as their references, on every core."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.schedules import run_schedule
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.packing import check_range, pack, unpack
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.cmsis_nn.depthwise import lower_depthwise_conv2d
from tinygen.kernels.tinygen_c.packed import packed_layers
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import HW, Padding
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets import load
from tinygen.targets.isa import Isa

NARROW = (DType.INT4, DType.INT2, DType.INT1)
CLAMP = Clamp(-128, 127)
LAYERS = 40
TARGETS = [
    pytest.param("host", Library.PORTABLE, id="host-portable"),
    pytest.param("host", Library.CMSIS_NN, id="host-cmsis", marks=requires_cmsis),
    *(
        pytest.param(board, library, id=f"{board}-{library.value}", marks=[requires_qemu, pytest.mark.qemu, *marks])
        for board, library, marks in (
            ("mps2-an382", Library.PORTABLE, []),
            ("mps2-an385", Library.CMSIS_NN, [requires_cmsis]),
            ("mps2-an386", Library.PORTABLE, []),
            ("mps2-an386", Library.CMSIS_NN, [requires_cmsis]),
            ("mps3-an547", Library.CMSIS_NN, [requires_cmsis]),
        )
    ),
]


def _values(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> Array:
    if dtype is DType.INT1:
        return rng.choice(np.array([-1, 1], np.int8), shape)
    return rng.integers(dtype.min, dtype.max + 1, shape, dtype.numpy)


@given(st.sampled_from(NARROW), st.integers(0, 70), st.integers(0, 2**31))
def test_packing_is_undone_by_unpacking(dtype: DType, count: int, seed: int) -> None:
    values = _values(np.random.default_rng(seed), dtype, (count,))
    packed = pack(values, dtype)
    assert packed.nbytes == TensorType(dtype, (count,)).bytes == -(-count * dtype.bits // 8)
    assert np.array_equal(unpack(packed, dtype, (count,)), values)


@pytest.mark.parametrize(
    ("dtype", "values", "stored"),
    [
        (DType.INT4, [1, 2, 3, 4], [0x21, 0x43]),
        (DType.INT4, [-1, 7, -8], [0x7F, 0x08]),
        (DType.INT2, [1, -2, -1, 0, 1], [0b00_11_10_01, 0b01]),
        (DType.INT1, [1, -1, -1, 1, 1, 1, 1, 1, -1], [0b1111_1001, 0]),
    ],
)
def test_packing_is_that_of_the_formats(dtype: DType, values: list[int], stored: list[int]) -> None:
    assert pack(np.array(values, np.int8), dtype).view(np.uint8).tolist() == stored


@pytest.mark.parametrize(("dtype", "wrong"), [(DType.INT4, 8), (DType.INT2, -3), (DType.INT1, 0)])
def test_values_out_of_range(dtype: DType, wrong: int) -> None:
    with pytest.raises(ValueError, match=f"{wrong} is no value of {dtype.value}"):
        check_range(np.array([1, wrong], np.int8), dtype)


def test_too_few_bytes() -> None:
    with pytest.raises(ValueError, match="1 bytes hold no 3 elements of i4"):
        unpack(np.zeros(1, np.int8), DType.INT4, (3,))


class _Layers:
    """Random layers side by side, each with an input of its own."""

    def __init__(self, seed: int, dtypes: tuple[DType, ...] = NARROW) -> None:
        self._rng = np.random.default_rng(seed)
        self._dtypes = dtypes
        self.ops: list[Op] = []
        self.inputs: list[Tensor] = []

    def graph(self) -> Graph:
        ports = [Port(tensor.name, tensor, tensor.type) for tensor in self.inputs]
        results = [op.results[0] for op in self.ops]
        return Graph("layers", tuple(ports), tuple(Port(t.name, t, t.type) for t in results), tuple(self.ops))

    def values(self) -> list[Array]:
        """Extreme values now and then."""
        values = [self._rng.integers(-128, 128, tensor.shape, np.int8) for tensor in self.inputs]
        values[0][:] = -128
        return values

    def _between(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def _tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        zero_point = int(self._rng.choice([-128, 127, self._between(-128, 127)]))
        return Tensor(f"{name}{len(self.ops)}", TensorType(DType.INT8, shape, Quant((0.05,), (zero_point,))))

    def _constants(self, shape: tuple[int, ...], axis: int, per_channel: bool = True) -> tuple[Tensor, Tensor | None]:
        """Weights of a random width, and perhaps a bias."""
        dtype = self._dtypes[len(self.ops) % len(self._dtypes)]
        channels = shape[axis]
        scales = tuple(self._rng.uniform(0.002, 0.05, channels if per_channel else 1).tolist())
        quant = Quant(scales, self._zero_points(dtype, len(scales)), axis if len(scales) > 1 else None)
        number = len(self.ops)
        weights = Tensor(f"w{number}", TensorType(dtype, shape, quant), _values(self._rng, dtype, shape))
        if self._rng.random() < 0.3:
            return weights, None
        bias = self._rng.integers(-500, 500, channels, np.int32)
        return weights, Tensor(f"b{number}", TensorType(DType.INT32, (channels,)), bias)

    def _zero_points(self, dtype: DType, count: int) -> tuple[int, ...]:
        if dtype is not DType.UINT8:
            return (0,) * count
        return tuple(self._rng.integers(0, 256, count).tolist())

    def _place(self) -> dict[str, object]:
        return {"name": f"op{len(self.ops)}", "source": Source("net", len(self.ops), f"OP 'op{len(self.ops)}'")}

    def _window(self, kernel: HW, stride: HW, dilation: HW, out: tuple[int, int]) -> tuple[Padding, tuple[int, int]]:
        """A padding, and the input size that gives the output size with it."""
        sizes, pads = [], []
        for k, s, d, o in zip((kernel.h, kernel.w), (stride.h, stride.w), (dilation.h, dilation.w), out, strict=True):
            needed = (o - 1) * s + (k - 1) * d + 1
            before, after = (self._between(0, min((k - 1) * d, (needed - 1) // 2)) for _ in range(2))
            sizes.append(needed - before - after)
            pads.append((before, after))
        (top, bottom), (left, right) = pads
        return Padding(top, bottom, left, right), (sizes[0], sizes[1])

    def _pair(self, low: int, high: int) -> HW:
        return HW(self._between(low, high), self._between(low, high))

    def convolution(self) -> None:
        is_pixelwise = self._rng.random() < 0.3
        kernel = HW(1, 1) if is_pixelwise else self._pair(1, 4)
        stride = self._pair(1, 2)
        dilation = HW(1, 1) if self._rng.random() < 0.7 else self._pair(1, 2)
        padding, (height, width) = self._window(kernel, stride, dilation, (self._between(1, 5), self._between(1, 5)))
        groups = self._between(1, 3) if self._rng.random() < 0.3 else 1
        depth, filters = self._between(1, 19), self._between(1, 9)
        input = self._tensor("x", (1, height, width, groups * depth))
        weights, bias = self._constants((groups * filters, kernel.h, kernel.w, depth), 0)
        out_h = (height + padding.top + padding.bottom - (kernel.h - 1) * dilation.h - 1) // stride.h + 1
        out_w = (width + padding.left + padding.right - (kernel.w - 1) * dilation.w - 1) // stride.w + 1
        output = self._tensor("y", (1, out_h, out_w, groups * filters))
        self._append(
            input,
            Conv2D(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output,
                stride=stride, dilation=dilation, padding=padding, clamp=CLAMP,
            ),
        )  # fmt: skip

    def depthwise(self) -> None:
        kernel, stride = self._pair(1, 4), self._pair(1, 2)
        padding, (height, width) = self._window(kernel, stride, HW(1, 1), (self._between(1, 5), self._between(1, 5)))
        channels, multiplier = self._between(1, 140), 1 if self._rng.random() < 0.7 else 2
        input = self._tensor("x", (1, height, width, channels))
        weights, bias = self._constants((1, kernel.h, kernel.w, channels * multiplier), 3)
        out_h = (height + padding.top + padding.bottom - kernel.h) // stride.h + 1
        out_w = (width + padding.left + padding.right - kernel.w) // stride.w + 1
        output = self._tensor("y", (1, out_h, out_w, channels * multiplier))
        self._append(
            input,
            DepthwiseConv2D(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output,
                stride=stride, dilation=HW(1, 1), padding=padding, clamp=CLAMP,
            ),
        )  # fmt: skip

    def fully_connected(self) -> None:
        rows, features, units = self._between(1, 3), self._between(1, 90), self._between(1, 17)
        input = self._tensor("x", (rows, features))
        weights, bias = self._constants((units, features), 0, per_channel=self._rng.random() < 0.5)
        output = self._tensor("y", (rows, units))
        self._append(
            input,
            FullyConnected(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output, clamp=CLAMP,
            ),
        )  # fmt: skip

    def _append(self, input: Tensor, op: Op) -> None:
        op.verify()
        self.inputs.append(input)
        self.ops.append(op)


def random_layers(seed: int, count: int, dtypes: tuple[DType, ...] = NARROW) -> _Layers:
    """Convolutions, depthwise ones and fully connected layers with weights of these widths in turn."""
    layers = _Layers(seed, dtypes)
    kinds = (layers.convolution, layers.depthwise, layers.convolution, layers.fully_connected)
    for number in range(count):
        kinds[number % len(kinds)]()
    return layers


@pytest.mark.parametrize(("target", "library"), TARGETS)
@pytest.mark.parametrize("dtypes", [NARROW, (DType.INT4,)], ids=["mixed", "int4"])
def test_layers_run(target: str, library: Library, dtypes: tuple[DType, ...], tmp_path: Path) -> None:
    board = load(target)
    layers = random_layers(len(target) + len(dtypes), LAYERS, dtypes)
    graph, inputs = layers.graph(), layers.values()
    schedule = plan(graph, board, Toolbox(library, board.isa), PlanRequest())
    [outputs] = run_schedule(schedule, library, tmp_path, [inputs])
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"
    used = {call.kernel.function for call in schedule.calls}
    if library is Library.CMSIS_NN and dtypes == (DType.INT4,):
        assert {"arm_convolve_1x1_s4_fast", "arm_fully_connected_s4"} <= used
        assert used & {"arm_convolve_s4", "arm_convolve_even_s4"}
    assert "tg_convolve_packed_s8" in used


@pytest.mark.parametrize(("target", "library"), TARGETS)
def test_weights_with_zero_points_run(target: str, library: Library, tmp_path: Path) -> None:
    board = load(target)
    layers = random_layers(len(target), LAYERS, (DType.UINT8,))
    graph, inputs = layers.graph(), layers.values()
    toolbox = Toolbox(library, board.isa, has_native_kernels=True)
    schedule = plan(graph, board, toolbox, PlanRequest())
    [outputs] = run_schedule(schedule, library, tmp_path, [inputs])
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"
    assert {call.kernel.function for call in schedule.calls} == {"tg_convolve_asymmetric_s8"}


@pytest.mark.parametrize("isa", [Isa.SCALAR, Isa.DSP, Isa.MVE])
@pytest.mark.parametrize("dtype", NARROW)
def test_which_depthwise_layers_are_the_library_s(dtype: DType, isa: Isa) -> None:
    """Those of four bits with one filter a channel, on DSP alone: elsewhere its function refuses or is wrong."""
    layers = _Layers(3, (dtype,))
    for _ in range(LAYERS):
        layers.depthwise()
    found = {True: set[str](), False: set[str]()}
    for op in layers.ops:
        assert isinstance(op, DepthwiseConv2D)
        found[op.multiplier == 1].add(lower_depthwise_conv2d(op, Toolbox(Library.CMSIS_NN, isa))[0].function)
    is_the_library_s = (dtype, isa) == (DType.INT4, Isa.DSP)
    assert (found[True] == {"arm_depthwise_conv_s4_opt"}) is is_the_library_s
    assert all(name.startswith("tg_") for name in (found[False] if is_the_library_s else found[False] | found[True]))


@pytest.mark.parametrize(("target", "library"), TARGETS)
def test_int8_without_scratch_runs(target: str, library: Library, tmp_path: Path) -> None:
    board = load(target)
    layers = _Layers(len(target), (DType.INT8,))
    for _ in range(LAYERS):
        layers.convolution()
    graph, inputs = layers.graph(), layers.values()
    kernels: dict[Op, Kernel] = {op: packed_layers(op)[-1] for op in graph.ops if isinstance(op, Conv2D)}
    assert {kernel.scratch_bytes for kernel in kernels.values()} == {0}
    [outputs] = run_schedule(whole_plan(graph, board, kernels), library, tmp_path, [inputs])
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"


@needs_litert
@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED"])
def test_s0_05_int4_is_that_of_litert(kind: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        channels, depth = int(rng.integers(1, 9)), 2 * int(rng.integers(1, 9))
        shape = (channels, 3, 3, depth) if kind == "CONV_2D" else (channels, depth)
        weights = _values(rng, DType.INT4, shape)
        writer = ModelWriter()
        input_shape = (1, 5, 6, depth) if kind == "CONV_2D" else (1, depth)
        output_shape = (1, 3, 4, channels) if kind == "CONV_2D" else (1, channels)
        x = writer.tensor("x", input_shape, scale=0.05, zero_point=3)
        scales = rng.uniform(0.01, 0.05, channels).tolist()
        data = pack(weights, DType.INT4).tobytes()
        w = writer.tensor("w", shape, "int4", scale=scales if kind == "CONV_2D" else 0.02, data=data)
        b = writer.tensor("b", (channels,), "int32", scale=0.001, data=rng.integers(-99, 99, channels, np.int32))
        y = writer.tensor("y", output_shape, scale=0.1, zero_point=-5)
        if kind == "CONV_2D":
            writer.operator(kind, [x, w, b], [y], stride_h=1, stride_w=1, padding=1)
        else:
            writer.operator(kind, [x, w, b], [y])
        file = writer.finish([x], [y])
        values = rng.integers(-128, 128, input_shape, np.int8)
        [expected] = run_reference(file, [values]).outputs
        [computed] = evaluate(import_model(file), [values])
        difference = np.abs(computed.astype(int) - expected.astype(int)).max()
        assert difference <= (kind == "FULLY_CONNECTED"), seed  # LiteRT's rounds once
