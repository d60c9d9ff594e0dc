"""Accuracy on real data after calibration, against the float network and onnxruntime's own static quantization."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from benchmarks.accuracy.__main__ import measured
from benchmarks.accuracy.tasks import FOLDER, digits
from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.float_models import as_float
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.shared import shared_file
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.mixed import Mixing, mix
from tinygen.calib.model import load_float
from tinygen.exports.onnx_export import export_onnx
from tinygen.frontends import import_model
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.dataset import open_dataset
from tinygen.quant.forward import forward_of
from tinygen.quant.scheme import Scheme
from tinygen.quant.widths import Widths

Labels = npt.NDArray[np.integer]


def _keywords() -> tuple[Path, Float32Array, Labels]:
    """The float model, its inputs (those of the int8 model, as real numbers), classes."""
    reference = import_model(shared_file("models/mlperf_tiny/kws_ref_model.tflite"))
    with np.load(shared_file("eval/kws01.npz")) as data:
        images = dequantize(data["x"], reference.inputs[0].tensor.type).astype(np.float32)
        labels: Labels = data["y"]
    return shared_file("models/mlperf_tiny/kws_fp32_qualcomm.tflite"), images, labels


def _digits(folder: Path) -> tuple[Path, Float32Array, Labels]:
    graph = import_model(DIGITS)
    model = folder / "digits.onnx"
    onnx.save(export_onnx(as_float(graph)), str(model))
    with np.load(DIGITS_DATA) as data:
        images = dequantize(data["in0"], graph.inputs[0].tensor.type).astype(np.float32)
        labels: Labels = data["labels"]
    return model, images, labels


def _right(outputs: Array, labels: Labels) -> int:
    return int(np.sum(outputs.reshape(len(labels), -1).argmax(axis=1) == labels))


def _float(model: Path, images: Float32Array) -> Array:
    graph = load_float(model).graph
    name = graph.outputs[0].tensor.name
    return forward_of(graph, [name]).run([images])[name]


def _calibrated(model: Path, images: Float32Array, count: int, folder: Path) -> Array:
    """The generated C on the host for all images but the first `count`, which calibrate it."""
    table = folder / "t.ctable.json"
    Calibrator(load_float(model)).run(images[first : first + 25] for first in range(0, count, 25)).save(table)
    return _executed(model, images[count:], folder)


def _executed(model: Path, images: Float32Array, folder: Path) -> Array:
    """The generated C on the host, by the table in the folder."""
    compiled = compile_model(model, Options(ctable=folder / "t.ctable.json", target="host"))
    outputs = compiled.execute([[image[np.newaxis]] for image in images]).outputs
    return np.concatenate([sample[0] for sample in outputs])


def _static(model: Path, images: Float32Array, count: int, folder: Path, per_channel: bool) -> Array:
    """onnxruntime's `quantize_static` on the ONNX model that tinygen writes, calibrated on the same images."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    session = pytest.importorskip("onnxruntime").InferenceSession
    real, stored = folder / "float.onnx", folder / "static.onnx"
    onnx.save(export_onnx(load_float(model).graph), str(real))
    name = session(str(real)).get_inputs()[0].name

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._images: Iterator[Float32Array] = iter(images[:count])

        def get_next(self) -> dict[str, Float32Array] | None:
            image = next(self._images, None)
            return None if image is None else {name: image[np.newaxis]}

    quantization.quantize_static(str(real), str(stored), Reader(), per_channel=per_channel)
    outputs: Array = session(str(stored)).run(None, {name: images[count:]})[0]
    return outputs


@needs_onnxruntime
def test_s0_22_keywords_lose_less_than_half_a_point_and_no_more_than_by_onnxruntime(tmp_path: Path) -> None:
    model, images, labels = _keywords()
    ours = _right(_calibrated(model, images, 100, tmp_path), labels[100:])
    assert ours > _right(_float(model, images[100:]), labels[100:]) - 0.005 * 900
    for per_channel in (False, True):
        assert ours >= _right(_static(model, images, 100, tmp_path, per_channel), labels[100:])


@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_s0_22_trained_vision_networks_lose_less_than_one_percent(name: str) -> None:
    """Of 364 images that training has not seen; with int16 activations none at all beyond one image."""
    task = digits(name)
    for widths, most in ((Widths(), 0.01), (Widths(activations=Storage.INT16), 1 / 364)):
        [real, found] = measured(task, {"this": Settings(widths=widths)})
        assert real.score > 0.95
        assert real.score - found.score <= most + 1e-9


@pytest.mark.parametrize("flash", [None, 20_000])
def test_keywords_with_int4_weights_lose_less_than_one_and_a_half_points(tmp_path: Path, flash: int | None) -> None:
    model, images, labels = _keywords()
    data = tmp_path / "samples.npz"
    np.savez(data, in0=images[:100], labels=labels[:100])
    calibrator = Calibrator(load_float(model))
    mixed = mix(calibrator, open_dataset(data, calibrator.graph.inputs), Mixing(1.0, flash))
    assert mixed.mixture.constant_bytes <= (flash or 18_100)
    mixed.calibration.save(tmp_path / "t.ctable.json")
    assert (
        _right(_executed(model, images[100:], tmp_path), labels[100:])
        > _right(_float(model, images[100:]), labels[100:]) - 0.015 * 900
    )


@needs_onnxruntime
def test_s0_02_keywords_lose_nothing_with_int16_activations(tmp_path: Path) -> None:
    model, images, labels = _keywords()
    settings = Settings(widths=Widths(activations=Storage.INT16))
    Calibrator(load_float(model), None, settings).run([images[:100]]).save(tmp_path / "t.ctable.json")
    ours = _right(_executed(model, images[100:], tmp_path), labels[100:])
    assert ours >= _right(_float(model, images[100:]), labels[100:])


def test_s0_02_s0_22_digits_lose_nothing(tmp_path: Path) -> None:
    model, images, labels = _digits(tmp_path)
    real = _right(_float(model, images[100:]), labels[100:])
    assert real >= 0.98 * 264
    assert _right(_calibrated(model, images, 100, tmp_path), labels[100:]) >= real


def test_s0_21_control_per_channel_keeps_accuracy_where_scales_are_powers_of_two(tmp_path: Path) -> None:
    model, images, _ = _digits(tmp_path)
    expected = np.asarray(_float(model, images[100:]), np.float64)
    errors = []
    for per_channel in (True, False):
        settings = Settings(scheme=Scheme.POW2, per_channel=per_channel)
        calibrator = Calibrator(load_float(model), None, settings)
        calibrator.run(images[first : first + 25] for first in range(0, 100, 25)).save(tmp_path / "t.ctable.json")
        outputs = np.asarray(_executed(model, images[100:], tmp_path), np.float64).reshape(expected.shape)
        errors.append(float(np.square(outputs - expected).mean()))
    assert errors[0] < errors[1]


@pytest.mark.parametrize("model", sorted(FOLDER.glob("*.onnx")), ids=lambda model: model.name)
def test_networks_do_not_say_on_which_machine_they_were_made(model: Path) -> None:
    assert not re.search(rb'File "|site-packages', model.read_bytes())
