"""The C of two tiny models, word for word, with portable and with native kernels.

`pytest --update-golden` writes it anew, to be read in the diff.

What the C computes is tested elsewhere: this is about how it looks.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiny_models import classifier, tower
from tinygen import __version__
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model

GOLDEN = Path(__file__).with_name("golden")
CASES = [pytest.param("classifier", classifier(), Objective.TIME, id="classifier")]
CASES += [pytest.param("tower", tower(), Objective.RAM, id="tower")]
NATIVE = {"native_m4": "mps2-an386", "native_m55": "mps3-an547"}  # folder of the C, and the board that it is for
SCRIPT = """
import sys
from pathlib import Path
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

options = Options(target="mps2-an386", kernels=Kernels.PORTABLE, objective=Objective(sys.argv[2]))
for file, text in sorted(compile_model(Path(sys.argv[1]), options).files.items()):
    sys.stdout.write(f"{file}:{text}")
"""


def compiled(
    folder: Path,
    name: str,
    model: bytes,
    objective: Objective,
    board: str = "mps2-an386",
    kernels: Kernels = Kernels.PORTABLE,
) -> Compiled:
    path = folder / f"{name}.tflite"
    path.write_bytes(model)
    return compile_model(path, Options(target=board, kernels=kernels, objective=objective))


@pytest.mark.parametrize(("name", "model", "objective"), CASES)
def test_the_text(name: str, model: bytes, objective: Objective, tmp_path: Path, update_golden: bool) -> None:
    compare(compiled(tmp_path, name, model, objective), GOLDEN, update_golden)


@pytest.mark.parametrize("folder", NATIVE)
@pytest.mark.parametrize(("name", "model", "objective"), CASES)
def test_the_text_with_native_kernels(
    folder: str,
    name: str,
    model: bytes,
    objective: Objective,
    tmp_path: Path,
    update_golden: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Backed by the portable ones, whether CMSIS-NN is there or not."""
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")
    native = compiled(tmp_path, name, model, objective, NATIVE[folder], Kernels.NATIVE)
    assert any(call.kernel.function.startswith("tg_") for call in native.schedule.calls)
    compare(native, GOLDEN / folder, update_golden)


def compare(found: Compiled, golden: Path, update_golden: bool) -> None:
    """The model's files with those that are kept."""
    for file, text in found.files.items():
        shown = text.replace(f"tinygen {__version__}", "tinygen VERSION")
        if update_golden:
            golden.mkdir(exist_ok=True)
            (golden / file).write_text(shown)
        assert shown == (golden / file).read_text(), f"{file}: read the difference, then pytest --update-golden"


def test_the_second_one_runs_row_by_row(tmp_path: Path) -> None:
    """Or it would not show what it is kept for."""
    text = compiled(tmp_path, "tower", tower(), Objective.RAM).files["tower.c"]
    assert "for (int32_t i = 0; i < " in text
    assert "memmove(" in text


@pytest.mark.parametrize(("name", "model", "objective"), CASES)
def test_the_same_bytes_again(name: str, model: bytes, objective: Objective, tmp_path: Path) -> None:
    """In this process and in others, whose sets have another order."""
    files = compiled(tmp_path, name, model, objective).files
    assert compiled(tmp_path, name, model, objective).files == files
    joined = "".join(f"{file}:{text}" for file, text in sorted(files.items()))
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / f"{name}.tflite"), objective.value],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout == joined


@pytest.mark.parametrize(("name", "model", "objective"), CASES)
def test_lines_are_short_and_clean(name: str, model: bytes, objective: Objective, tmp_path: Path) -> None:
    for file, text in compiled(tmp_path, name, model, objective).files.items():
        lines = text.split("\n")
        assert lines[-1] == "", f"{file}: no line break at its end"
        assert max(len(line) for line in lines) <= 120, file
        assert not [line for line in lines if line != line.rstrip() or "\t" in line], file
        assert "\n\n\n" not in text, file
        assert "{\n\n" not in text, file
