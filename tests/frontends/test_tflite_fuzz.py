"""Damaged TFLite files: whatever the bytes, tinygen refuses them with a `TinygenError` or reads them."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import tflite

from tests.frontends.test_tflite_writer import MODELS
from tests.support.control_models import branch_model, loop_model
from tests.support.fuzz import survive
from tests.support.recurrent_models import lstm_model, svdf_model
from tests.support.shared import shared_file
from tests.support.stateful import variables_model
from tests.support.tflite_writer import OPERATORS, ModelWriter
from tinygen.errors import UnsupportedModelError, VerifyError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.frontends.tflite.raw import RawOperator
from tinygen.frontends.tflite.schema import read

IMPORT = "tests.frontends.test_tflite_fuzz:import_whole"
SEED = 20240607
MEMORY_LIMIT_BYTES = 500_000_000
READ = "tests.frontends.test_tflite_fuzz:read_everything"
SMALL_FILE_BYTES = 100_000
OPTION_NAMES = {code: name for name, code in vars(tflite.BuiltinOptions).items() if name.endswith("Options")}


def read_everything(path: Path) -> None:
    """All that a frontend may look at: constants, and the options that operator and file name."""
    for subgraph in read(path).subgraphs:
        for tensor in subgraph.tensors:
            tensor.values()
        for operator in subgraph.operators:
            _read_options(operator)


def import_whole(path: Path) -> None:
    """The graph, with all that readers and checks make of it."""
    import_tflite(path)


def _read_options(operator: RawOperator) -> None:
    implied, _ = OPERATORS.get(operator.name, (None, 1))
    stored = OPTION_NAMES.get(operator.options_type) if operator.options_table else None
    for kind in {implied, stored} - {None}:
        try:
            operator.options(getattr(tflite, str(kind)))
        except UnsupportedModelError:
            continue


def _check(files: list[Path], mutations: int) -> None:
    survival = survive(READ, files, mutations, SEED)
    print(f"seed {SEED}: {survival}")
    assert survival.failure is None
    assert survival.refused + survival.accepted == mutations
    assert min(survival.refused, survival.accepted) > mutations // 20
    assert survival.peak_resident_bytes < MEMORY_LIMIT_BYTES


def test_mutations_of_models_with_states(tmp_path: Path) -> None:
    models = {
        "variables": variables_model(1),
        "svdf": svdf_model(1)[0],
        "lstm": lstm_model(1)[0],
        "branch": branch_model(),
        "loop": loop_model(nested=True),
    }
    files = [tmp_path / f"{name}.tflite" for name in models]
    for file, model in zip(files, models.values(), strict=True):
        file.write_bytes(model)
    survival = survive(IMPORT, files, 600, SEED)
    assert survival.failure is None
    assert min(survival.refused, survival.accepted) > 30
    assert survival.peak_resident_bytes < MEMORY_LIMIT_BYTES


def test_mutations_of_written_models(tmp_path: Path) -> None:
    files = []
    for name, build in MODELS.items():
        writer = ModelWriter()
        files.append(tmp_path / f"{name.replace(' ', '_')}.tflite")
        files[-1].write_bytes(writer.finish(*build(writer)))
    _check(files, mutations=4000)


def test_mutations_of_real_models() -> None:
    models = shared_file("models").glob("*/*.tflite")
    _check(sorted(file for file in models if file.stat().st_size < SMALL_FILE_BYTES), mutations=4000)


def raise_key_error(path: Path) -> None:
    """A target with a defect."""
    raise KeyError(path)


def never_return(path: Path) -> None:
    """A target that hangs on files of any size, whatever its handlers catch."""
    while path.name:
        with suppress(Exception):
            path.stat()


def break_an_invariant(path: Path) -> None:
    """A target that reports a defect of tinygen itself."""
    raise VerifyError(str(path))


@pytest.mark.parametrize(
    ("target", "error"),
    [(raise_key_error, "KeyError"), (never_return, "TooManyStepsError"), (break_an_invariant, "VerifyError")],
)
def test_the_fuzzer_notices_defects(target: Callable[[Path], None], error: str, tmp_path: Path) -> None:
    writer = ModelWriter()
    file = tmp_path / "relu.tflite"
    file.write_bytes(writer.finish(*MODELS["relu"](writer)))
    name = f"tests.frontends.test_tflite_fuzz:{target.__name__}"
    failure = survive(name, [file], mutations=1, seed=3, steps_each=100_000).failure
    assert failure is not None
    assert failure.startswith("seed 3, mutation 0, of relu.tflite: Traceback ")
    assert error in failure.splitlines()[-1]
