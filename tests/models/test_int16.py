"""A 16x8 network from file to program: the reference kernels' numbers, whole and in rows."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.ir.types import Array
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.system.work import work_folder

SIZE = (20, 12)
SAME, RELU = 0, 1


class _Network:
    """Layers one after the other, each a little finer quantized than its values need."""

    def __init__(self) -> None:
        self.writer = ModelWriter()
        self._rng = np.random.default_rng(8)
        self._scale = 4 / 32767

    def input(self) -> tuple[int, int]:
        """The float input and what it is quantized to."""
        real = self.writer.tensor("real", (1, *SIZE, 3), "float32")
        quantized = self._tensor("input", (1, *SIZE, 3))
        self.writer.operator("QUANTIZE", [real], [quantized])
        return real, quantized

    def convolution(self, name: str, input: int, channels: int, kernel: int, stride: int = 1) -> int:
        """CONV_2D with ReLU."""
        operands, result = self._filters(
            name, input, (channels, kernel, kernel, self.writer.shape(input)[3]), 0, stride
        )
        self.writer.operator(
            "CONV_2D", operands, [result], version=4, stride_h=stride, stride_w=stride, padding=SAME,
            fused_activation_function=RELU,
        )  # fmt: skip
        return result

    def depthwise(self, name: str, input: int) -> int:
        """DEPTHWISE_CONV_2D with ReLU."""
        operands, result = self._filters(name, input, (1, 3, 3, self.writer.shape(input)[3]), 3, 1)
        self.writer.operator(
            "DEPTHWISE_CONV_2D", operands, [result], version=5, stride_h=1, stride_w=1, padding=SAME,
            depth_multiplier=1, fused_activation_function=RELU,
        )  # fmt: skip
        return result

    def addition(self, name: str, first: int, second: int) -> int:
        """ADD."""
        self._scale *= 1.3
        result = self._tensor(name, self.writer.shape(first))
        self.writer.operator("ADD", [first, second], [result], version=4, pot_scale_int16=False)
        return result

    def pool(self, name: str, input: int) -> int:
        """The mean over the whole image."""
        _, height, width, channels = self.writer.shape(input)
        result = self._tensor(name, (1, 1, 1, channels))
        self.writer.operator(
            "AVERAGE_POOL_2D", [input], [result], filter_height=height, filter_width=width, stride_h=1, stride_w=1,
            padding=1, version=3,
        )  # fmt: skip
        return result

    def softmax(self, input: int) -> int:
        """SOFTMAX, and float again."""
        shape = self.writer.shape(input)
        result = self.writer.tensor("softmax", shape, "int16", scale=1 / 32768)
        self.writer.operator("SOFTMAX", [input], [result], beta=1.0, version=3)
        real = self.writer.tensor("result", shape, "float32")
        self.writer.operator("DEQUANTIZE", [result], [real], version=3)
        return real

    def _tensor(self, name: str, shape: tuple[int, ...]) -> int:
        return self.writer.tensor(name, shape, "int16", scale=self._scale)

    def _filters(self, name: str, input: int, shape: tuple[int, ...], axis: int, stride: int) -> tuple[list[int], int]:
        """Input, weights and bias; the result."""
        channels, input_scale = shape[axis], self._scale
        scales = self._rng.uniform(0.002, 0.006, channels).astype(np.float32)
        data, bias = self._rng.integers(-127, 128, shape), self._rng.integers(-100000, 100000, channels)
        weights = self.writer.tensor(f"{name}/weights", shape, "int8", scale=scales.tolist(), axis=axis, data=data)
        sums = (input_scale * scales).tolist()
        biases = self.writer.tensor(f"{name}/bias", (channels,), "int64", scale=sums, data=bias)
        self._scale *= 1.2
        _, height, width, _ = self.writer.shape(input)
        result = self._tensor(name, (1, -(-height // stride), -(-width // stride), channels))
        return [input, weights, biases], result


def _model() -> bytes:
    network = _Network()
    real, x = network.input()
    x = network.convolution("stem", x, 8, 3, stride=2)
    y = network.depthwise("depthwise", x)
    y = network.convolution("pointwise", y, 8, 1)
    x = network.addition("sum", x, y)
    x = network.convolution("wide", x, 16, 3)
    x = network.convolution("classes", network.pool("mean", x), 12, 1)
    return network.writer.finish([real], [network.softmax(x)])


@needs_litert
@pytest.mark.parametrize("objective", [Objective.TIME, Objective.RAM], ids=lambda objective: objective.value)
@pytest.mark.parametrize(
    ("target", "kernels"),
    [
        ("host", Kernels.PORTABLE),
        pytest.param("mps2-an386", Kernels.CMSIS_NN, marks=[pytest.mark.qemu, requires_qemu, requires_cmsis]),
        pytest.param("mps3-an547", Kernels.CMSIS_NN, marks=[pytest.mark.qemu, requires_qemu, requires_cmsis]),
    ],
)
def test_program_equals_litert(target: str, kernels: Kernels, objective: Objective, tmp_path: Path) -> None:
    file = tmp_path / "network.tflite"
    file.write_bytes(_model())
    generator = np.random.default_rng(3)
    samples: list[list[Array]] = [[generator.normal(0, 1.5, (1, *SIZE, 3)).astype(np.float32)] for _ in range(4)]
    compiled = compile_model(file, Options(target=target, kernels=kernels, objective=objective))
    with work_folder() as build:
        outputs = execute(compiled.build(build, Measure.INSTRUCTIONS), compiled.schedule, samples).outputs
    for sample, [found] in zip(samples, outputs, strict=True):
        [expected] = run_reference(file, sample).outputs
        np.testing.assert_array_equal(found, expected)
        assert 0.99 < found.sum() < 1.01 and found.max() < 0.99


def _movement_model() -> tuple[bytes, Array]:
    """Operators that only move elements."""
    writer, rng = ModelWriter(), np.random.default_rng(4)

    def tensor(name: str, *shape: int) -> int:
        return writer.tensor(name, shape, "int16", scale=0.01)

    def constant(name: str, *values: int | list[int]) -> int:
        data = np.array(values)
        return writer.tensor(name, data.shape, "int32", data=data)

    x, padded, turned = tensor("x", 1, 5, 4, 3), tensor("padded", 1, 8, 6, 3), tensor("turned", 1, 6, 8, 3)
    joined, cut, flat = tensor("joined", 1, 6, 8, 6), tensor("cut", 1, 3, 4, 6), tensor("flat", 1, 72)
    writer.operator("PAD", [x, constant("paddings", [0, 0], [1, 2], [0, 2], [0, 0])], [padded])
    writer.operator("TRANSPOSE", [padded, constant("permutation", 0, 2, 1, 3)], [turned])
    writer.operator("CONCATENATION", [turned, turned], [joined], axis=3)
    begin, end = constant("begin", 0, 1, 0, 0), constant("end", 1, 6, 8, 6)
    writer.operator("STRIDED_SLICE", [joined, begin, end, constant("strides", 1, 2, 2, 1)], [cut], version=4)
    writer.operator("RESHAPE", [cut, constant("shape", 1, 72)], [flat])
    return writer.finish([x], [flat]), rng.integers(-32768, 32768, (1, 5, 4, 3), np.int16)


@needs_litert
@pytest.mark.parametrize("kernels", [Kernels.PORTABLE, pytest.param(Kernels.CMSIS_NN, marks=requires_cmsis)])
def test_movement(kernels: Kernels, tmp_path: Path) -> None:
    model, values = _movement_model()
    file = tmp_path / "movement.tflite"
    file.write_bytes(model)
    compiled = compile_model(file, Options(target="host", kernels=kernels))
    with work_folder() as build:
        image = compiled.build(build, Measure.INSTRUCTIONS)
        [[found]] = execute(image, compiled.schedule, [[values]]).outputs
    [expected] = run_reference(file, [values]).outputs
    np.testing.assert_array_equal(found, expected)
