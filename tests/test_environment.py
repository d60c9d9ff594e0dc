"""What docs/figures.md says of the environment, tried: what else is there changes neither C nor figures."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import DIGITS
from tests.support.float_models import write_float_model
from tests.support.tools import requires_qemu

OPTIONAL = ("ortools", "ai_edge_litert", "onnxruntime", "tflite_micro", "torch", "tensorflow", "clang")


def _tinygen(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, hidden: Sequence[str] = ()
) -> dict[str, Any]:
    """The JSON of a command in a process in which some packages cannot be imported."""
    code = f"import sys; sys.modules.update(dict.fromkeys({list(hidden)})); from tinygen.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments), "--json"],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _library(folder: Path) -> Path:
    """What passes for CMSIS-NN's folder until something of it is compiled."""
    (folder / "Include").mkdir(parents=True)
    (folder / "Source").mkdir()
    (folder / "Include" / "arm_nnfunctions.h").touch()
    return folder


def _c_of(folder: Path, **settings: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What `compile` prints and writes, without CMSIS-NN."""
    document = _tinygen(
        *("compile", DIGITS, "-t", "mps2-an386", "-O", "ram", "--cmsis-nn", "off", "-o", folder), **settings
    )
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    return {key: value for key, value in document.items() if key != "folder"}, files


def test_c_is_the_same_whatever_else_is_there(tmp_path: Path) -> None:
    """A library that `--cmsis-nn off` leaves out, packages and tools that are missing, other places of caches."""
    documents, files = zip(
        _c_of(tmp_path / "plain"),
        _c_of(tmp_path / "library", environment={"TINYGEN_CMSIS_NN": str(_library(tmp_path / "nn"))}),
        _c_of(tmp_path / "packages", hidden=OPTIONAL),
        _c_of(tmp_path / "tools", environment={"PATH": str(Path(sys.executable).parent)}),
        _c_of(tmp_path / "cache", environment={"TINYGEN_CACHE": str(tmp_path / "own")}),
        strict=True,
    )
    assert all(found == files[0] for found in files[1:]) and len(files[0]) > 3
    assert all(found["arena_bytes"] == documents[0]["arena_bytes"] for found in documents[1:])


@requires_qemu
@pytest.mark.qemu
def test_figures_are_the_same_wherever_libraries_are_kept(tmp_path: Path) -> None:
    asked = ("bench", DIGITS, "-t", "mps2-an386", "--cmsis-nn", "off")
    cached = _tinygen(*asked)
    assert cached["instructions"] > 0
    assert _tinygen(*asked, environment={"TINYGEN_CACHE": str(tmp_path / "own")}, hidden=OPTIONAL) == cached
    assert any((tmp_path / "own").iterdir())


@requires_qemu
@pytest.mark.qemu
def test_without_plugins_instructions_are_near_and_there_are_no_cycles(tmp_path: Path) -> None:
    """A host compiler that fails, so that the plugin cannot be built."""
    asked = ("bench", DIGITS, "-t", "mps2-an386", "--cmsis-nn", "off")
    counted = _tinygen(*asked)
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "cc").write_text("#!/bin/sh\nexit 1\n")
    (broken / "cc").chmod(0o755)
    environment = {"PATH": f"{broken}:{os.environ['PATH']}", "TINYGEN_CACHE": str(tmp_path / "own")}
    without = _tinygen(*asked, environment=environment)
    assert (counted["counted_by"], without["counted_by"]) == ("plugin", "systick")
    assert (without["cycles_model"], without["cycles_band"]) == (None, None)
    assert abs(without["instructions"] - counted["instructions"]) <= 40


def test_calibration_by_numpy_is_that_of_onnxruntime_but_for_last_bits(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model, data = write_float_model(tmp_path)
    asked = ("calibrate", model, "--data", data, "-o")
    fast = _tinygen(*asked, tmp_path / "fast.json")
    plain = _tinygen(*asked, tmp_path / "plain.json", hidden=("onnxruntime",))
    assert (fast["forward"], plain["forward"]) == ("onnxruntime", "numpy")
    tables = [json.loads((tmp_path / name).read_text())["tensors"] for name in ("fast.json", "plain.json")]
    assert tables[0].keys() == tables[1].keys()
    for name, entry in tables[0].items():
        assert entry["scale"] == pytest.approx(tables[1][name]["scale"], rel=1e-4), name


def test_nothing_but_the_page_of_compliance_asks_for_cppcheck() -> None:
    root = Path(__file__).resolve().parents[1]
    found = {
        str(file.relative_to(root))
        for folder in ("tinygen", "benchmarks")
        for file in (root / folder).rglob("*.py")
        if "cppcheck" in file.read_text(encoding="utf-8")
    }
    assert found == {"benchmarks/compliance.py"}
