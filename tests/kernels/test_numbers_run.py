"""Operators on numbers and truth values side by side in one program: generated, compiled and run."""

from pathlib import Path

import pytest

from tests.support.number_models import CASES, model_of
from tests.support.reference import agrees, evaluate
from tests.support.tools import board_param, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

TARGETS = [
    pytest.param("host", True, id="host-sanitized"),
    pytest.param("mps2-an386", False, id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", False, id="m55", marks=[requires_qemu, pytest.mark.qemu]),
    board_param("qemu-rv32", False, id="rv32"),
]


@pytest.mark.parametrize(("target", "sanitized"), TARGETS)
def test_numbers_run(target: str, sanitized: bool, tmp_path: Path) -> None:
    model = model_of(list(CASES), seed=len(target))
    source = tmp_path / "numbers.tflite"
    source.write_bytes(model.finish())
    compiled = compile_model(source, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))
    folder = tmp_path / "build"
    folder.mkdir()
    image = compiled.build(folder, Measure.INSTRUCTIONS, [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    (outputs,) = execute(image, compiled.schedule, [model.values]).outputs
    expected = evaluate(compiled.imported, model.values)
    for port, found, wanted in zip(compiled.imported.outputs, outputs, expected, strict=True):
        assert agrees(found, wanted), port.name
