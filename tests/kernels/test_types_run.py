"""Operators type by type, side by side in one program: generated, compiled and run, against their numpy references."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.batches import stacked
from tests.support.tools import requires_qemu
from tests.support.typed_models import imported_cases, typed_model
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify import reference

TARGETS = [
    pytest.param("host", [Sanitizer.ADDRESS, Sanitizer.UNDEFINED], id="host-sanitized"),
    pytest.param("mps2-an386", [], id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", [], id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]
_TYPES = [("int8", "uint8"), ("int16", "int32"), ("int64", "float32", "bool")]


@pytest.mark.parametrize("types", _TYPES, ids="-".join)
@pytest.mark.parametrize(("target", "sanitizers"), TARGETS)
def test_types_run(target: str, sanitizers: list[Sanitizer], types: tuple[str, ...], tmp_path: Path) -> None:
    cases = [case for case in imported_cases() if case.type in types]
    model = typed_model(cases, seed=len(target))
    source = tmp_path / "types.tflite"
    source.write_bytes(model.finish())
    with stacked():
        compiled = compile_model(source, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))
    folder = tmp_path / "build"
    folder.mkdir()
    image = compiled.build(folder, Measure.INSTRUCTIONS, sanitizers)
    (outputs,) = execute(image, compiled.schedule, [model.values]).outputs
    graph = compiled.imported
    expected = reference.outputs(graph, reference.evaluate(graph, model.values))
    for port, found, wanted in zip(graph.outputs, outputs, expected, strict=True):
        if wanted.dtype == np.float32:
            assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6), port.name
        else:
            assert np.array_equal(found, wanted), port.name
