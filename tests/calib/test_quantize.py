"""Quantized models for other runtimes: what they compute, against the compiled model."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.onnx_runtime import needs_onnxruntime
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.ops.quantize import dequantize, quantize
from tinygen.verify.reference import evaluate


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    model, data = write_float_model(tmp_path, 64)
    table = tmp_path / "net.ctable.json"
    assert tinygen("calibrate", model, "--data", data, "-o", table).code == 0
    return model, data, table


def _ours(model: Path, table: Path, data: Path, folder: Path) -> Array:
    assert tinygen("simulate", model, "--ctable", table, "--data", data, "--output", folder / "o.npz").code == 0
    with np.load(folder / "o.npz") as outputs:
        found: Array = outputs["out0"]
    return found


@needs_onnxruntime
def test_onnxruntime_runs_the_onnx_model(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, data, table = files
    out = tmp_path / "q.onnx"
    assert tinygen("quantize", model, "--ctable", table, "-o", out).code == 0
    onnx.checker.check_model(str(out))
    assert {"QuantizeLinear", "DequantizeLinear"} < {node.op_type for node in onnx.load(str(out)).graph.node}
    session = runtime.InferenceSession(str(out))
    assert [port.name for port in session.get_inputs()] == ["image"]
    theirs: npt.NDArray[np.float32] = session.run(["scores"], {"image": samples(64)})[0]
    ours = _ours(model, table, data, tmp_path).astype(np.float32)
    assert np.abs(theirs - ours).max() < 0.1
    assert float(np.mean(np.abs(theirs - ours))) < 0.01
    assert (theirs.argmax(axis=1) == ours.argmax(axis=1)).mean() >= 0.97
    by_data = tmp_path / "d.onnx"
    assert tinygen("quantize", model, "--data", data, "-o", by_data).code == 0
    assert by_data.read_bytes() == out.read_bytes()


def test_our_own_importer_reads_the_same_int8_network(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, data, table = files
    out = tmp_path / "q.onnx"
    assert tinygen("quantize", model, "--ctable", table, "-o", out).code == 0
    again = import_model(out)
    ours = _ours(model, table, data, tmp_path).astype(np.float32)
    values = [evaluate(again, [sample[np.newaxis]])[again.outputs[0].tensor] for sample in samples(8)]
    assert np.abs(np.concatenate(values).astype(np.float64) - ours[:8]).max() < 0.05


def test_litert_runs_the_tflite_model_to_the_byte(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert missing: .tflite files are not run")
    model, data, table = files
    out = tmp_path / "q.tflite"
    assert tinygen("quantize", model, "--ctable", table, "-o", out).code == 0
    validated = tinygen("validate", out, "--samples", "4", "--json", "-t", "host")
    assert (validated.code, validated.document["exact"], validated.document["oracle"]) == (0, True, "litert")
    again = import_model(out)
    stored = quantize(samples(8), again.inputs[0].tensor.type)
    values = [evaluate(again, [image[np.newaxis]])[again.outputs[0].tensor] for image in stored]
    scores = dequantize(np.concatenate(values), again.outputs[0].tensor.type)
    np.testing.assert_array_equal(scores, _ours(model, table, data, tmp_path)[:8])


def test_an_edited_clamp_is_no_activation_of_tflite(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, _, table = files
    document = json.loads(table.read_text())
    document["ops"]["stem"]["control"]["act_max"] = 77
    table.write_text(json.dumps(document))
    ended = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / "q.tflite")
    assert ended.code == 3
    assert "is clamped to [-128, 77], which no activation of TFLite does. Write the model as .onnx" in ended.stderr


def test_wrong_uses(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    model, data, table = files
    out = tmp_path / "q.onnx"
    both = tinygen("quantize", model, "--ctable", table, "--data", data, "-o", out)
    assert (both.code, "--data, --ctable: exactly one of them was expected." in both.stderr) == (2, True)
    suffix = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / "q.h5")
    assert (suffix.code, "has the suffix '.h5', .onnx or .tflite was" in suffix.stderr) == (2, True)
    existing = tinygen("quantize", model, "--ctable", table, "-o", model.with_name("samples.npz").with_suffix(".npz"))
    assert existing.code == 2


@pytest.mark.parametrize(
    ("correction", "scale", "message"),
    [
        ([0.5], None, "operator 'stem': bias_correction has 1 values, "),
        (None, 3e38, "operator 'stem': the scale of its products is "),
    ],
)
def test_an_edited_bias(
    correction: list[float] | None, scale: float | None, message: str, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """Tables are edited by hand: what fits no bias is named."""
    model, _, table = files
    document = json.loads(table.read_text())
    if correction is not None:
        document["ops"]["stem"]["bias_correction"] = correction
    if scale is not None:
        document["tensors"] |= {
            name: {**entry, "scale": [scale] * len(entry["scale"])}
            for name, entry in document["tensors"].items()
            if name != "scores"
        }
    table.write_text(json.dumps(document))
    ended = tinygen("quantize", model, "--ctable", table, "-o", tmp_path / "q.onnx")
    assert (ended.code, message in ended.stderr) == (2, True), ended.stderr
