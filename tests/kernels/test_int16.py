"""int16 activations with int8 weights, computed as their references on every core, by both libraries."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.reference import evaluate
from tests.support.schedules import run_schedule
from tests.support.tools import board_param, requires_cmsis, requires_qemu
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.add import Add
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.softmax import Softmax
from tinygen.ops.softmax_int16 import OUTPUT_SCALE
from tinygen.ops.squared_difference import SquaredDifference
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW, Padding
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

LAYERS = 152
TARGETS = [
    pytest.param("host", Library.PORTABLE, id="host-portable"),
    pytest.param("host", Library.CMSIS_NN, id="host-cmsis", marks=requires_cmsis),
    board_param("qemu-rv32", Library.PORTABLE, id="qemu-rv32-portable"),
    *(
        pytest.param(board, library, id=f"{board}-{library.value}", marks=[requires_qemu, pytest.mark.qemu, *marks])
        for board, library, marks in (
            ("mps2-an385", Library.CMSIS_NN, [requires_cmsis]),
            ("mps2-an386", Library.PORTABLE, []),
            ("mps2-an386", Library.CMSIS_NN, [requires_cmsis]),
            ("mps3-an547", Library.CMSIS_NN, [requires_cmsis]),
        )
    ),
]


OWN = {
    *(
        f"tg_{name}_s16"
        for name in ("add", "leaky_relu", "maximum", "minimum", "mul", "prelu", "reduce_extreme", "sub")
    ),
    *(f"tg_{name}_s16" for name in ("squared_difference", "sum", "transpose_conv")),
    *("tg_rescale_s16_s32", "tg_rescale_s32_s16", "tg_rescale_s32_s8", "tg_rescale_s8_s32"),
}


class Layers:
    """Random layers side by side, each with inputs of its own."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.ops: list[Op] = []

    def graph(self) -> Graph:
        inputs = [tensor for op in self.ops for tensor in op.variable_operands]
        ports = tuple(Port(tensor.name, tensor, tensor.type) for tensor in inputs)
        results = tuple(Port(t.name, t, t.type) for op in self.ops for t in op.results)
        return Graph("layers", ports, results, tuple(self.ops))

    def add(self, count: int) -> None:
        """Layers of all kinds in turn."""
        kinds = (
            self.convolution, self.depthwise, self.fully_connected, self.pool, self.convolution, self.depthwise,
            self.binary, self.softmax, self.pool, self.rescaling, self.mean, self.sigmoid, self.widening_softmax,
            self.binary, self.transposed, self.extremum, self.leaky, self.extreme, self.wide,
        )  # fmt: skip
        for number in range(count):
            kinds[number % len(kinds)]()

    def convolution(self) -> None:
        kernel, stride, padding, size, out = self._window()
        groups = self._between(2, 3) if len(self.ops) % 22 == 4 else 1
        depth = 97 if self._rng.random() < 0.2 else self._between(1, 19)
        filters = self._between(1, 9)
        input = self._tensor("x", (self._between(1, 2), *size, groups * depth), 0.001)
        weights, bias = self._constants((groups * filters, kernel.h, kernel.w, depth), 0)
        output = self._tensor("y", (input.shape[0], *out, groups * filters), self._output_scale(weights))
        self._append(
            Conv2D(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output,
                stride=stride, dilation=HW(1, 1), padding=padding, clamp=self._clamp(),
            )
        )  # fmt: skip

    def depthwise(self) -> None:
        kernel, stride, padding, size, out = self._window()
        channels, multiplier = self._between(1, 30), 1 if self._rng.random() < 0.6 else self._between(2, 4)
        input = self._tensor("x", (self._between(1, 2), *size, channels), 0.001)
        weights, bias = self._constants((1, kernel.h, kernel.w, channels * multiplier), 3)
        output = self._tensor("y", (input.shape[0], *out, channels * multiplier), self._output_scale(weights))
        self._append(
            DepthwiseConv2D(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output,
                stride=stride, dilation=HW(1, 1), padding=padding, clamp=self._clamp(),
            )
        )  # fmt: skip

    def fully_connected(self) -> None:
        rows, units = self._between(1, 3), self._between(1, 17)
        features = self._between(520, 700) if len(self.ops) % 44 == 2 else self._between(1, 90)  # 32 bits overflow
        input = self._tensor("x", (rows, features), 0.001)
        weights, bias = self._constants((units, features), 0, per_channel=len(self.ops) % 22 < 11)
        output = self._tensor("y", (rows, units), self._output_scale(weights))
        self._append(
            FullyConnected(
                **self._place(),  # type: ignore[arg-type]
                input=input, weights=weights, bias=bias, output=output, clamp=self._clamp(),
            )
        )  # fmt: skip

    def pool(self) -> None:
        kernel, stride, padding, size, out = self._window()
        input = self._tensor("x", (self._between(1, 2), *size, self._between(1, 21)), 0.001)
        output = self._tensor("y", (input.shape[0], *out, input.shape[3]), 0.001)
        kind = AveragePool2D if self._rng.random() < 0.5 else MaxPool2D
        self._append(
            kind(
                **self._place(),  # type: ignore[arg-type]
                input=input, output=output, kernel=kernel, stride=stride, padding=padding, clamp=self._clamp(),
            )
        )  # fmt: skip

    def binary(self) -> None:
        shape = (1, self._between(1, 5), self._between(1, 5), self._between(1, 9))
        first, second = (
            self._tensor(role, extent, float(self._rng.uniform(1e-4, 1e-2)))
            for role, extent in zip("ab", self._operands(shape), strict=True)
        )
        output = self._tensor("y", shape, 0.01)
        place: dict[str, Any] = self._place()
        match len(self.ops) * 3 % 5:  # each kind in turn
            case 0:
                wide = self._tensor("y", shape, 0.05)
                self._append(SquaredDifference(**place, first=first, second=second, output=wide))
            case 1:
                self._append(Prelu(**place, input=first, alpha=second, output=self._tensor("y", shape, 0.02)))
            case 2:
                self._append(Mul(**place, first=first, second=second, output=output, clamp=self._clamp()))
            case _:
                sign = self._between(0, 1) * 2 - 1
                self._append(Add(**place, first=first, second=second, output=output, clamp=self._clamp(), sign=sign))

    def _operands(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return shape, (shape, shape[-1:], (1, shape[1], 1, 1))[self._between(0, 2)]

    def extremum(self) -> None:
        shape = (1, self._between(1, 5), self._between(1, 5), self._between(1, 9))
        first, second = (
            self._tensor(role, extent, 0.01) for role, extent in zip("ab", self._operands(shape), strict=True)
        )
        kind = Maximum if self._rng.random() < 0.5 else Minimum
        place: dict[str, Any] = self._place()
        self._append(kind(**place, first=first, second=second, output=self._tensor("y", shape, 0.01)))

    def leaky(self) -> None:
        input, output = (self._tensor(role, (self._between(1, 50),) * 1, 0.01) for role in "xy")
        output = Tensor(output.name, replace(output.type, shape=input.shape))
        place: dict[str, Any] = self._place()
        self._append(LeakyRelu(**place, input=input, output=output, alpha=float(self._rng.uniform(-0.5, 1.5))))

    def extreme(self) -> None:
        shape = (self._between(1, 3), self._between(1, 5), self._between(1, 5), self._between(1, 9))
        axis = self._between(0, 3)
        kept = tuple(1 if at == axis else size for at, size in enumerate(shape))
        kind = (ReduceMax, ReduceMin, Sum)[self._between(0, 2)]
        place: dict[str, Any] = self._place()
        self._append(
            kind(**place, input=self._tensor("x", shape, 0.01), output=self._tensor("y", kept, 0.01), axes=(axis,))
        )

    def wide(self) -> None:
        place: dict[str, Any] = self._place()
        narrow = self._quantized(DType.INT16 if self._rng.random() < 0.5 else DType.INT8, (self._between(1, 50),))
        wide = TensorType(DType.INT32, narrow.shape, Quant((2.0**-16,), (0,)))
        types = (narrow, wide) if self._rng.random() < 0.5 else (wide, narrow)
        input, output = (Tensor(f"{role}{len(self.ops)}", type) for role, type in zip("xy", types, strict=True))
        self._append(Rescale(**place, input=input, output=output))

    def transposed(self) -> None:
        kernel, stride = HW(self._between(1, 4), self._between(1, 4)), HW(self._between(1, 3), self._between(1, 3))
        input = self._tensor("x", (self._between(1, 2), self._between(1, 4), self._between(1, 4), 5), 0.001)
        weights, bias = self._constants((self._between(1, 6), kernel.h, kernel.w, 5), 0)
        shape = (input.shape[0], self._between(1, 9), self._between(1, 9), weights.shape[0])
        output = self._tensor("y", shape, self._output_scale(weights))
        place: dict[str, Any] = self._place()
        self._append(
            TransposeConv2D(
                **place, input=input, weights=weights, bias=bias, output=output, stride=stride,
                top=self._between(0, kernel.h - 1), left=self._between(0, kernel.w - 1), clamp=self._clamp(),
            )
        )  # fmt: skip

    def softmax(self) -> None:
        shape = (self._between(1, 4), int(self._rng.choice([1, 8, 12, 300])))
        input = self._tensor("x", shape, float(self._rng.choice([1e-4, 1e-3, 1e-2])))
        output = self._tensor("y", shape, OUTPUT_SCALE)
        self._append(Softmax(**self._place(), input=input, output=output, beta=1.0))  # type: ignore[arg-type]

    def widening_softmax(self) -> None:
        shape = (self._between(1, 4), int(self._rng.choice([1, 8, 12, 300])))
        quant = Quant((float(self._rng.choice([1e-3, 1e-2, 1e-1])),), (self._between(-128, 127),))
        input = Tensor(f"x{len(self.ops)}", TensorType(DType.INT8, shape, quant))
        output = Tensor(f"y{len(self.ops)}", TensorType(DType.INT16, shape, Quant((1 / 65536,), (-32768,))))
        self._append(Softmax(**self._place(), input=input, output=output, beta=1.0))  # type: ignore[arg-type]

    def sigmoid(self) -> None:
        shape = (self._between(1, 4), self._between(1, 700))
        input = self._tensor("x", shape, float(self._rng.choice([1e-8, 1e-5, 1e-4, 2**-12, 1e-3, 2.6])))
        output = self._tensor("y", shape, OUTPUT_SCALE)
        function = Function.TANH if self._rng.random() < 0.5 else Function.LOGISTIC
        self._append(
            FloatFunction(**self._place(), input=input, output=output, function=function)  # type: ignore[arg-type]
        )

    def mean(self) -> None:
        shape = (self._between(1, 2), self._between(1, 6), self._between(1, 6), self._between(1, 9))
        axes = ((1, 2), (1,), (3,), (0, 2))[self._between(0, 3)]
        input = self._tensor("x", shape, 0.001)
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        output = self._tensor("y", kept, float(self._rng.choice([0.001, 0.0007])))
        self._append(Mean(**self._place(), input=input, output=output, axes=axes))  # type: ignore[arg-type]

    def rescaling(self) -> None:
        shape = (self._between(1, 50),)
        source, target = ((DType.INT16, DType.INT16), (DType.INT16, DType.INT8), (DType.INT8, DType.INT16))[
            self._between(0, 2)
        ]
        input = Tensor(f"x{len(self.ops)}", self._quantized(source, shape))
        output = Tensor(f"y{len(self.ops)}", self._quantized(target, shape))
        if source is target and self._rng.random() < 0.5:
            self._append(
                Relu(**self._place(), input=input, output=output, activation=Activation.RELU6)  # type: ignore[arg-type]
            )
        else:
            self._append(Rescale(**self._place(), input=input, output=output))  # type: ignore[arg-type]

    def _quantized(self, dtype: DType, shape: tuple[int, ...]) -> TensorType:
        if dtype is DType.INT16:
            return TensorType(dtype, shape, Quant((float(self._rng.uniform(1e-3, 1e-2)),), (0,)))
        return TensorType(dtype, shape, Quant((float(self._rng.uniform(1e-3, 1e-1)),), (self._between(-128, 127),)))

    def values(self) -> list[Array]:
        """Inputs for all layers, some of nothing but extremes."""
        found = [
            self._rng.integers(
                tensor.type.dtype.min, tensor.type.dtype.max, tensor.shape, tensor.type.dtype.numpy, True
            )
            for op in self.ops
            for tensor in op.variable_operands
        ]
        for array in found[::3]:
            limits = np.iinfo(array.dtype)
            array[:] = self._rng.choice(np.array([limits.min, limits.max], array.dtype), array.shape)
        found[0][:] = -32768
        return found

    def _between(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def _tensor(self, role: str, shape: tuple[int, ...], scale: float) -> Tensor:
        return Tensor(f"{role}{len(self.ops)}", TensorType(DType.INT16, shape, Quant((scale,), (0,))))

    def _constants(self, shape: tuple[int, ...], axis: int, per_channel: bool = True) -> tuple[Tensor, Tensor | None]:
        """Weights, sometimes all extreme, and perhaps a bias."""
        channels, number = shape[axis], len(self.ops)
        scales = tuple(self._rng.uniform(0.002, 0.05, channels if per_channel else 1).tolist())
        quant = Quant(scales, (0,) * len(scales), axis if len(scales) > 1 else None)
        data = self._rng.integers(-127, 128, shape, np.int8)
        if number % 44 == 2 or self._rng.random() < 0.2:
            data[:] = -127
        weights = Tensor(f"w{number}", TensorType(DType.INT8, shape, quant), data)
        if self._rng.random() < 0.3:
            return weights, None
        bias = self._rng.integers(-(1 << 40), 1 << 40, channels, np.int64) >> self._between(6, 30)
        return weights, Tensor(f"b{number}", TensorType(DType.INT64, (channels,)), bias)

    def _output_scale(self, weights: Tensor) -> float:
        """So that most sums fit, and some do not."""
        assert weights.type.quant is not None
        count = weights.type.elements / max(len(weights.type.quant.scales), 1)
        return float(0.001 * max(weights.type.quant.scales) * 64 * np.sqrt(count) * self._rng.choice([0.1, 1, 4]))

    def _clamp(self) -> Clamp:
        return Clamp(-32768, 32767) if self._rng.random() < 0.6 else Clamp(0, self._between(100, 32767))

    def _window(self) -> tuple[HW, HW, Padding, tuple[int, int], tuple[int, int]]:
        """Kernel, stride, padding, sizes of input and output."""
        kernel, stride = HW(self._between(1, 4), self._between(1, 4)), HW(self._between(1, 2), self._between(1, 2))
        if self._rng.random() < 0.2:
            kernel = HW(1, 1)
        sizes, outs, pads = [], [], []
        for k, s in ((kernel.h, stride.h), (kernel.w, stride.w)):
            before, after = self._between(0, k - 1), self._between(0, k - 1)
            sizes.append(k + self._between(0, 5))
            outs.append((sizes[-1] + before + after - k) // s + 1)
            pads.append((before, after))
        return kernel, stride, Padding(*pads[0], *pads[1]), (sizes[0], sizes[1]), (outs[0], outs[1])

    def _place(self) -> dict[str, object]:
        return {"name": f"op{len(self.ops)}", "source": Source("net", len(self.ops), f"OP 'op{len(self.ops)}'")}

    def _append(self, op: Op) -> None:
        op.verify()
        self.ops.append(op)


@pytest.mark.parametrize(("target", "library"), TARGETS)
def test_layers_run(target: str, library: Library, tmp_path: Path) -> None:
    board = load(target)
    layers = Layers(16)
    layers.add(LAYERS)
    graph, inputs = layers.graph(), layers.values()
    schedule = plan(graph, board, Toolbox(library, board.isa, has_native_kernels=True), PlanRequest())
    [outputs] = run_schedule(schedule, library, tmp_path, [inputs])
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"
    used = {call.kernel.function for call in schedule.calls}
    assert {"tg_convolve_s16", "tg_logistic_s16", "tg_tanh_s16", "tg_softmax_s8_s16"} <= used
    assert used >= OWN
    if library is Library.CMSIS_NN:
        assert {"arm_convolve_s16", "arm_fully_connected_s16", "arm_avgpool_s16", "arm_max_pool_s16"} <= used
        assert used & {"arm_depthwise_conv_s16", "arm_depthwise_conv_fast_s16"}
