"""VWW in strips of columns: a fifth of the arena of a resident input, to the bit, for 3.2 % more multiplications."""

from pathlib import Path

import pytest

from tests.support.models import golden_tflm, largest_difference, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Library, Objective
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.operators import extra_macs
from tinygen.verify.validate import validate

_MODEL = "vww_96_int8"
LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis))


def _compiled(library: Library, target: str = "mps2-an386") -> Compiled:
    kernels = Kernels(library.value)
    options = Options(target, objective=Objective.RAM, input=InputMode.REREADABLE, kernels=kernels)
    return compile_model(model_file(_MODEL), options)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
def test_vww_runs_in_strips(library: Library, tmp_path: Path) -> None:
    """Between guard zones around an arena of exactly the planned size."""
    compiled = _compiled(library)
    assert compiled.schedule.arena_bytes <= 10_437
    assert 0 < extra_macs(compiled.schedule) <= 0.032 * compiled.imported.macs
    inputs, expected = golden_tflm(_MODEL, compiled)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    assert largest_difference(execute(image, compiled.schedule, inputs[:2]).outputs, expected[:2]) == 0


def test_every_operator_is_exact_and_the_header_says_what_the_callback_must_do() -> None:
    compiled = _compiled(Library.PORTABLE, "host")
    found = validate(compiled, samples=1, per_layer=True)
    assert found.exact, found.first_mismatch
    header, source = compiled.files[f"{_MODEL}.h"], compiled.files[f"{_MODEL}.c"]
    assert "It must be able to go back" in header
    assert f"int {_MODEL}_fetch_patch(void *user, int first_row, int rows, int first_column, int columns" in header
    assert f"{_MODEL}_fetch_rows" not in header + source
    assert "row by row, in 2 strips of columns" in source
    assert max(len(line) for text in compiled.files.values() for line in text.splitlines()) <= 120
