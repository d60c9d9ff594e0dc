"""A public network of file types, which jax exported: float32 from onnxruntime to C, and what int8 keeps."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy.files import TYPES, files
from benchmarks.accuracy.tasks import file_types, magika
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tinygen.ops.gather import Gather
from tinygen.options import Options
from tinygen.pipeline import compile_model

pytestmark = pytest.mark.skipif(magika() is None, reason="magika missing: its network is not tried")


def test_files_are_made_again() -> None:
    """In other processes, whose words have other hashes."""
    code = (
        "import hashlib, benchmarks.accuracy.files as f; print(hashlib.sha256(repr(f.files(48, 7)).encode()).digest())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(made) == 1
    assert [type for type, _ in files(48, 7)] == [*TYPES, *TYPES]


@needs_onnxruntime
def test_float_execution_is_onnxruntime_s() -> None:
    task = file_types()
    known = task.known["in0"][3:5, None]
    compiled = compile_model(task.model, Options(target="host", allow_float=True))
    assert any(isinstance(op, Gather) for op in compiled.graph.ops)
    outputs = np.stack([sample[0] for sample in compiled.execute([[each] for each in known]).outputs])
    expected = np.stack([run_onnxruntime(task.model, [each])[0] for each in known])
    assert np.allclose(outputs, expected, atol=1e-5)
