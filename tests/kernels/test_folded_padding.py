"""Padding folded into windows: kernels get paddings that no exporter writes by itself, against LiteRT with its PAD."""

from pathlib import Path

import numpy as np
import pytest
import tflite
from numpy.typing import NDArray

from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.ops.pad import Pad
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

OPERATORS = ("CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D")
ZERO_POINT = -7
VALID = tflite.Padding.VALID


def _padded_windows(count: int) -> tuple[bytes, list[NDArray[np.int8]]]:
    """A model with PAD and a window behind it, `count` times, and values for its inputs."""
    rng, writer = np.random.default_rng(3), ModelWriter()
    inputs: list[int] = []
    outputs: list[int] = []
    values: list[NDArray[np.int8]] = []
    for number in range(count):
        name = OPERATORS[number % len(OPERATORS)]
        kernel, stride = rng.integers(1, 4, 2), rng.integers(1, 3, 2)
        pads = rng.integers(0, kernel[:, None], (2, 2))
        size, channels = rng.integers(3, 8, 2), int(rng.choice([3, 4, 8]))
        zero_point = -128 if name == "MAX_POOL_2D" else ZERO_POINT
        shape = (1, *size.tolist(), channels)
        x = writer.tensor(f"x{number}", shape, scale=0.1, zero_point=zero_point)
        padded_size = size + pads.sum(axis=1)
        padded = writer.tensor(f"p{number}", (1, *padded_size.tolist(), channels), scale=0.1, zero_point=zero_point)
        widths = writer.tensor(f"w{number}", (4, 2), "int32", data=[[0, 0], *pads.tolist(), [0, 0]])
        writer.operator("PAD", [x, widths], [padded])
        result_size = ((padded_size - kernel) // stride + 1).tolist()
        y = _window(writer, name, padded, rng, kernel.tolist(), stride.tolist(), (1, *result_size, channels))
        inputs.append(x)
        outputs.append(y)
        values.append(rng.integers(-128, 128, shape).astype(np.int8))
    return writer.finish(inputs, outputs), values


def _window(
    writer: ModelWriter,
    name: str,
    padded: int,
    rng: np.random.Generator,
    kernel: list[int],
    stride: list[int],
    shape: tuple[int, ...],
) -> int:
    """The operator itself, without padding of its own; as many output as input channels."""
    channels = shape[3]
    if name == "MAX_POOL_2D":
        y = writer.tensor(f"y{padded}", shape, scale=0.1, zero_point=-128)
        sizes = {"filter_height": kernel[0], "filter_width": kernel[1]}
        writer.operator(name, [padded], [y], padding=VALID, stride_h=stride[0], stride_w=stride[1], **sizes)  # type: ignore[arg-type]
        return y
    y = writer.tensor(f"y{padded}", shape, scale=0.2, zero_point=5)
    depthwise = name == "DEPTHWISE_CONV_2D"
    filters = (1, *kernel, channels) if depthwise else (channels, *kernel, channels)
    scales = rng.uniform(0.001, 0.02, channels).tolist()
    data = rng.integers(-127, 128, filters)
    weights = writer.tensor(f"f{padded}", filters, scale=scales, axis=3 if depthwise else 0, data=data)
    bias = writer.tensor(f"b{padded}", (channels,), "int32", data=rng.integers(-900, 900, channels))
    operands = [padded, weights, bias]
    dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1, **({"depth_multiplier": 1} if depthwise else {})}
    writer.operator(name, operands, [y], padding=VALID, stride_h=stride[0], stride_w=stride[1], **dilation)  # type: ignore[arg-type]
    return y


@needs_litert
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "kernels"),
    [
        ("host", Kernels.PORTABLE),
        pytest.param("mps2-an386", Kernels.CMSIS_NN, marks=[requires_qemu, requires_cmsis]),
        pytest.param("mps3-an547", Kernels.CMSIS_NN, marks=[requires_qemu, requires_cmsis]),
    ],
    ids=lambda value: value.value if isinstance(value, Kernels) else value,
)
def test_kernels_take_any_padding_that_is_folded_into_them(target: str, kernels: Kernels, tmp_path: Path) -> None:
    content, values = _padded_windows(count=60)
    path = tmp_path / "padded.tflite"
    path.write_bytes(content)
    compiled = compile_model(path, Options(target=target, kernels=kernels))
    assert not any(isinstance(op, Pad) for op in compiled.graph.ops)
    (outputs,) = execute(compiled.build(tmp_path, Measure.INSTRUCTIONS), compiled.schedule, [values]).outputs
    producers = compiled.graph.producers
    for port, output, want in zip(compiled.graph.outputs, outputs, run_reference(content, values).outputs, strict=True):
        np.testing.assert_array_equal(output, want, err_msg=str(producers[port.tensor]))
