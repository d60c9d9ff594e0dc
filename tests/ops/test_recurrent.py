"""Operators with states of their own: TFLM's vectors, and TFLM itself on random layers."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.recurrent_models import svdf_model
from tests.support.shared import shared_file
from tests.support.stateful import run_two_instances
from tests.support.tflm import needs_tflm, tflm_calls
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen import api
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.types import Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify import reference
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

SVDF = ("svdf_s16", "svdf_s8_overflow", "svdf_s8_zp0", "svdf_s8_zp_neg50")
BOARDS = ("host", "mps2-an386", "mps3-an547")


def _vectors(name: str) -> tuple[Path, Array, Array]:
    """A model of the golden vectors, its calls and the outputs."""
    with np.load(shared_file(f"golden/stateful/{name}.npz")) as data:
        return shared_file(f"golden/stateful/{name}.tflite"), data["x"], data["y"]


def _write(folder: Path, model: bytes) -> Path:
    file = folder / "recurrent.tflite"
    file.write_bytes(model)
    return file


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", BOARDS)
@pytest.mark.parametrize("name", SVDF)
def test_item_17_svdf(name: str, target: str) -> None:
    file, calls, expected = _vectors(name)
    actual = api.compile(file, target, kernels="portable").run(calls.reshape(len(calls), *calls.shape[1:]))
    np.testing.assert_array_equal(actual, expected.reshape(np.shape(actual)))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", BOARDS)
@pytest.mark.parametrize("name", ["tflm_keyword_scrambled_8bit", "tflm_keyword_scrambled_i16"])
def test_item_17_keyword_scrambled(name: str, target: str) -> None:
    """All outputs; of the first layer the newest states, as the outputs saturate."""
    model = api.compile(shared_file(f"models/open/{name}.tflite"), target, kernels="portable")
    with np.load(shared_file(f"golden/stateful/{name}.npz")) as data:
        calls, expected, newest = data["x"], data["y"], data["state0_newest"]
    np.testing.assert_array_equal(model.run(calls), expected.reshape(len(calls), 2))
    graph = model.compiled.imported
    layer = next(op for op in graph.ops if op.carried)
    runs = reference.evaluate_calls(graph, [[x] for x in calls])
    states = [arrays[layer.carried[0][1]].reshape(len(newest[0]), -1)[:, -1] for arrays in runs]
    np.testing.assert_array_equal(np.stack(states), newest)


@needs_tflm
@requires_host_cc
@pytest.mark.parametrize("seed", range(12))
def test_item_17_random_svdf(seed: int, tmp_path: Path) -> None:
    """Against TFLM's own interpreter, with all inner tensors of the generated C against the references."""
    model, shape = svdf_model(seed)
    calls = np.random.default_rng(seed).integers(-128, 128, (25, *shape)).astype(np.int8)
    compiled = compile_model(_write(tmp_path, model), Options(target="host", kernels=Kernels.PORTABLE))
    actual = np.stack([output for (output,) in compiled.execute([[x] for x in calls]).outputs])
    np.testing.assert_array_equal(actual, tflm_calls(model, calls))
    found = validate(compiled, [[x] for x in calls], samples=25, against=Oracle.SIMULATOR)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_tflm
@requires_host_cc
def test_item_17_real_svdf(tmp_path: Path) -> None:
    model, shape = svdf_model(3, is_real=True)
    calls = np.random.default_rng(1).normal(0, 1, (30, *shape)).astype(np.float32)
    compiled = compile_model(
        _write(tmp_path, model), Options(target="host", kernels=Kernels.PORTABLE, allow_float=True)
    )
    actual = np.stack([output for (output,) in compiled.execute([[x] for x in calls]).outputs])
    expected = tflm_calls(model, calls)
    np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32), rtol=1e-5, atol=1e-5)


@requires_host_cc
def test_item_17_contexts_of_svdf(tmp_path: Path) -> None:
    file, calls, expected = _vectors("svdf_s8_zp_neg50")
    compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE))
    run_two_instances(compiled, calls, expected, tmp_path)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (svdf_model(1, rank=7), "do not fit a rank of 7"),
        (svdf_model(1, is_variable=False), "is no variable tensor of its own, one was expected"),
    ],
)
def test_what_is_refused(model: tuple[bytes, tuple[int, ...]], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError, match=message):
        import_tflite(_write(tmp_path, model[0]))
