"""float32 and uint8 inputs and outputs of a generated program, on the host and on a Cortex-M4."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.ops.test_quantize import real_values
from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ir.types import Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.system.work import work_folder

SCALE = 0.1
REALS = real_values(SCALE)
BYTES = np.resize(np.arange(256), REALS.size).astype(np.uint8)


def model() -> bytes:
    """Both conversions on both sides, uint8 that is rescaled at an output, and uint8 between two operators."""
    writer = ModelWriter()
    size = REALS.size
    shape = writer.tensor("shape", (2,), "int32", data=np.array([1, size]))
    real, byte = writer.tensor("real", (size,), "float32"), uint8(writer, "byte", SCALE, 131)
    first, second = int8(writer, "first", SCALE, 3), int8(writer, "second", SCALE, 3)
    total, inner = int8(writer, "total", 0.2, 3), uint8(writer, "inner", 0.15, 30)
    reshaped = writer.tensor("reshaped", (1, size), "uint8", scale=0.15, zero_point=30)
    signed = writer.tensor("signed", (1, size), scale=0.05, zero_point=-3)
    outputs = [
        writer.tensor("real_first", (size,), "float32"),
        writer.tensor("real_total", (size,), "float32"),
        writer.tensor("flipped", (1, size), "uint8", scale=0.05, zero_point=125),
        writer.tensor("rescaled", (1, size), "uint8", scale=0.06, zero_point=7),
    ]
    writer.operator("QUANTIZE", [real], [first])
    writer.operator("QUANTIZE", [byte], [second])
    writer.operator("ADD", [first, second], [total])
    writer.operator("QUANTIZE", [total], [inner])
    writer.operator("RESHAPE", [inner, shape], [reshaped])
    writer.operator("QUANTIZE", [reshaped], [signed])
    for name, source, target in zip(
        ("DEQUANTIZE", "DEQUANTIZE", "QUANTIZE", "QUANTIZE"), (first, total, signed, signed), outputs, strict=True
    ):
        writer.operator(name, [source], [target])
    return writer.finish([real, byte], outputs)


def int8(writer: ModelWriter, name: str, scale: float, zero_point: int) -> int:
    """An inner tensor."""
    return writer.tensor(name, (REALS.size,), scale=scale, zero_point=zero_point)


def uint8(writer: ModelWriter, name: str, scale: float, zero_point: int) -> int:
    """An unsigned tensor."""
    return writer.tensor(name, (REALS.size,), "uint8", scale=scale, zero_point=zero_point)


def run(
    target: str, sanitizers: tuple[Sanitizer, ...], folder: Path, samples: list[list[Array]]
) -> Sequence[Sequence[Array]]:
    """What the generated program gives."""
    file = folder / "boundaries.tflite"
    file.write_bytes(model())
    compiled = compile_model(file, Options(target=target, kernels=Kernels.PORTABLE))
    with work_folder() as build:
        return execute(compiled.build(build, Measure.INSTRUCTIONS, sanitizers), compiled.schedule, samples).outputs


@needs_litert
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "sanitizers"),
    [
        ("host", (Sanitizer.ADDRESS, Sanitizer.UNDEFINED)),
        pytest.param("mps2-an386", (), marks=[pytest.mark.qemu, requires_qemu]),
    ],
)
def test_against_litert(target: str, sanitizers: tuple[Sanitizer, ...], tmp_path: Path) -> None:
    sample: list[Array] = [REALS, BYTES]
    odd = np.resize(np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32), REALS.size)
    ordinary, special = run(target, sanitizers, tmp_path, [sample, [odd, BYTES]])
    for actual, expected in zip(ordinary, run_reference(model(), sample).outputs, strict=True):
        np.testing.assert_array_equal(actual, expected)
    limits = (np.array([3, 127, -128, 127, -128]) - 3).astype(np.float32) * np.float32(SCALE)
    np.testing.assert_array_equal(special[0], np.resize(limits, REALS.size))
