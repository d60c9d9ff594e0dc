"""Ids that the application gives as float32, cast before an embedding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError
from tinygen.options import Options
from tinygen.passes import run
from tinygen.pipeline import compile_model

_INT32, _FLOAT32 = 2, 0  # tflite.TensorType
_IDS = np.array([[0.0, 4.9, 2.0]], np.float32)


def _embedding(dtype: str) -> bytes:
    """float32 ids -> CAST -> GATHER rows of a table -> the same and the ids again, as float32."""
    rng, writer = np.random.default_rng(2), ModelWriter()
    quantization: dict[str, Any] = {"scale": 0.1, "zero_point": 3} if dtype == "int8" else {}
    rows = rng.integers(-128, 128, (5, 4)) if dtype == "int8" else rng.normal(size=(5, 4)).astype(np.float32)
    x, ids = writer.tensor("x", (1, 3), "float32"), writer.tensor("ids", (1, 3), "int32")
    y, again = writer.tensor("y", (1, 3, 4), dtype, **quantization), writer.tensor("again", (1, 3), "float32")
    table = writer.tensor("table", (5, 4), dtype, data=rows, **quantization)
    writer.operator("CAST", [x], [ids], in_data_type=_FLOAT32, out_data_type=_INT32)
    writer.operator("GATHER", [table, ids], [y], axis=0)
    writer.operator("CAST", [ids], [again], in_data_type=_INT32, out_data_type=_FLOAT32)
    return writer.finish([x], [y, again])


@needs_litert
def test_float_ids_of_an_int8_embedding(tmp_path: Path) -> None:
    path = tmp_path / "embedding.tflite"
    path.write_bytes(_embedding("int8"))
    (outputs,) = compile_model(path, Options(target="host")).execute([[_IDS]]).outputs
    for found, expected in zip(outputs, run_reference(path, [_IDS]).outputs, strict=True):
        assert np.array_equal(found, expected)


def test_float_ids_are_no_activations(tmp_path: Path) -> None:
    path, samples = tmp_path / "embedding.tflite", tmp_path / "samples.npy"
    writer, rng = ModelWriter(), np.random.default_rng(3)
    x, ids = writer.tensor("x", (1, 3), "float32"), writer.tensor("ids", (1, 3), "int32")
    rows, y = writer.tensor("rows", (1, 3, 4), "float32"), writer.tensor("y", (1, 3, 4), "float32")
    table = writer.tensor("table", (5, 4), "float32", data=rng.normal(size=(5, 4)).astype(np.float32))
    writer.operator("CAST", [x], [ids], in_data_type=_FLOAT32, out_data_type=_INT32)
    writer.operator("GATHER", [table, ids], [rows], axis=0)
    writer.operator("TANH", [rows], [y])
    path.write_bytes(writer.finish([x], [y]))
    np.save(samples, rng.integers(0, 5, (8, 1, 3)).astype(np.float32))
    compiled = compile_model(path, Options(target="host", calibrate=samples))
    (outputs,) = compiled.execute([[_IDS]]).outputs
    assert np.allclose(outputs[0], run_reference(path, [_IDS]).outputs[0], atol=0.03)


def test_casts_inside_of_a_model_are_float() -> None:
    writer = ModelWriter()
    x, real, y = (writer.tensor(n, (1, 3), t) for n, t in (("x", "int32"), ("real", "float32"), ("y", "int32")))
    writer.operator("CAST", [x], [real], in_data_type=_INT32, out_data_type=_FLOAT32)
    writer.operator("CAST", [real], [y], in_data_type=_FLOAT32, out_data_type=_INT32)
    with pytest.raises(UnsupportedModelError, match="computes with float32, int8 was expected"):
        run(import_model(writer.finish([x], [y])))
