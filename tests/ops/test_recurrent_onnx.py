"""LSTM, GRU and RNN of ONNX against onnxruntime: random layers with all that the operators may have."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.recurrent_onnx import SequenceModel, sequence_model
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

OPERATORS = ("GRU", "LSTM", "RNN")


def _assert_as_onnxruntime(model: SequenceModel, target: str, folder: Path) -> None:
    own, other = folder / "own.onnx", folder / "steps_first.onnx"
    own.write_bytes(model.content)
    other.write_bytes(model.steps_first)
    compiled = compile_model(own, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))
    runs = compiled.execute([list(sample) for sample in model.samples]).outputs
    for sample, outputs in zip(model.samples, runs, strict=True):
        expected = model.turned_back(run_onnxruntime(other, model.turned(sample)))
        for actual, wanted in zip(outputs, expected, strict=True):
            assert actual.shape == wanted.shape
            assert np.allclose(actual, wanted, rtol=1e-4, atol=1e-5)
    found = validate(
        compiled,
        [list(sample) for sample in model.samples],
        samples=3,
        against=Oracle.SIMULATOR if model.has_batches_first else None,
    )
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_onnxruntime
@requires_host_cc
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(5))
def test_item_17_random_layers(operator: str, seed: int, tmp_path: Path) -> None:
    _assert_as_onnxruntime(sequence_model(seed, operator), "host", tmp_path)


@pytest.mark.qemu
@needs_onnxruntime
@requires_qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_item_17_random_layers_on_boards(operator: str, target: str, tmp_path: Path) -> None:
    _assert_as_onnxruntime(sequence_model(2, operator), target, tmp_path)
