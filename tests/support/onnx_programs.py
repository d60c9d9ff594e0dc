"""ONNX models as programs: compiled with sanitizers on the host, or for a Cortex-M4, and run beside onnxruntime."""

from pathlib import Path

import pytest

from tests.support.onnx_runtime import run_onnxruntime
from tests.support.reference import agrees
from tests.support.tools import requires_gcc_sanitizers, requires_qemu
from tinygen.build.execute import Sample, execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

TARGETS = [
    pytest.param("host", id="host-sanitized", marks=requires_gcc_sanitizers),
    pytest.param("mps2-an386", id="m4", marks=[requires_qemu, pytest.mark.qemu]),
]


def check_program(content: bytes, inputs: Sample, target: str, folder: Path) -> None:
    """Fail where a program's outputs are not those of onnxruntime: integers to the bit, float32 within 1e-5."""
    file = folder / "net.onnx"
    file.write_bytes(content)
    compiled = compile_model(file, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))
    build = folder / "build"
    build.mkdir()
    sanitizers = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if target == "host" else []
    image = compiled.build(build, Measure.INSTRUCTIONS, sanitizers)
    (outputs,) = execute(image, compiled.schedule, [inputs]).outputs
    for found, expected, port in zip(outputs, run_onnxruntime(file, inputs), compiled.graph.outputs, strict=True):
        assert found.shape == expected.shape
        assert agrees(found, expected), port.name
