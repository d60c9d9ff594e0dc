"""Damaged ONNX files: whatever the bytes, tinygen refuses them with a `TinygenError` or compiles them to a graph."""

from pathlib import Path

from tests.support.fuzz import survive
from tests.support.onnx_backend import backend_cases
from tests.support.onnx_control_models import branch_model, loop_model, quantized_model
from tests.support.onnx_models import CASES, single
from tests.support.onnx_qoperators import QOPERATORS, qoperator_model
from tests.support.shared import shared_file
from tinygen import passes
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling

SEED = 20240611
MEMORY_LIMIT_BYTES = 700_000_000
TARGET = "tests.frontends.test_onnx_fuzz:import_and_simplify"


def import_and_simplify(path: Path) -> None:
    """What reads a model before anything is planned."""
    passes.run(import_model(path))


def _check(files: list[Path], mutations: int, target: str = TARGET) -> None:
    survival = survive(target, files, mutations, SEED)
    print(f"seed {SEED}: {survival}")
    assert survival.failure is None
    assert survival.refused + survival.accepted == mutations
    assert min(survival.refused, survival.accepted) > mutations // 20
    assert survival.peak_resident_bytes < MEMORY_LIMIT_BYTES


def test_mutations_of_written_models(tmp_path: Path) -> None:
    contents = {name: single(name).finish() for name in CASES}
    contents |= {name: qoperator_model(name) for name in QOPERATORS}
    files = []
    for name, content in contents.items():
        files.append(tmp_path / f"{name.replace(' ', '_')}.onnx")
        files[-1].write_bytes(content)
    _check(files, mutations=3000)


def test_mutations_of_real_models() -> None:
    _check(sorted(shared_file("models").glob("open/*.onnx")), mutations=500)


def import_and_simplify_float(path: Path) -> None:
    """The same, where float32 is allowed."""
    passes.run(import_model(path, Spelling(allows_float=True)), passes.FLOAT_PASSES)


def test_mutations_of_float_models(tmp_path: Path) -> None:
    contents = {case.name: case.model.SerializeToString() for case in backend_cases()}
    contents |= {name.replace(" ", "_"): single(name).finish() for name in CASES}
    files = []
    for name, content in contents.items():
        files.append(tmp_path / f"{name}.onnx")
        files[-1].write_bytes(content)
    _check(files, mutations=2500, target="tests.frontends.test_onnx_fuzz:import_and_simplify_float")


def test_mutations_of_branches_and_loops(tmp_path: Path) -> None:
    contents = (branch_model(), branch_model(is_constant=True), loop_model(True), loop_model(False), quantized_model())
    files = [tmp_path / f"{number}.onnx" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    _check(files, mutations=300, target="tests.frontends.test_onnx_fuzz:import_and_simplify_float")
