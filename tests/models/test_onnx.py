"""Real quantized ONNX models: onnxruntime's vectors, operator by operator, accuracy, on the host and on a Cortex-M4."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.models import model_file as tflite_file
from tests.support.models import run_with
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.shared import shared_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.frontends import import_model
from tinygen.kernels.base import Library
from tinygen.ops.quantize import dequantize
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.oracle import Oracle
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.validate import validate

# Largest difference to onnxruntime over three golden inputs, in 1/256: it requantizes in float32, and 1 LSB of the
# logits (scale 0.17 in the first two models) moves a probability by up to 11/256.
MODELS = {"kaijiang_ic_resnet_qdq": 13, "kaijiang_kws_qdq": 15, "mlonmcu_micro_kws_m_qdq": 0.001}
ON_HOST = 100
ONNXRUNTIME_RIGHT = 902  # of the 1000 keyword inputs
ALLOWED_LOSS = 3  # 0.3 points

LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis))
Reals = npt.NDArray[np.float64]


def _model(name: str) -> Path:
    return shared_file(f"models/open/{name}.onnx")


def _compiled(name: str, target: str, library: Library = Library.PORTABLE) -> Compiled:
    return compile_model(_model(name), Options(target=target, kernels=Kernels(library.value)))


def _golden(name: str) -> tuple[Samples, Reals]:
    with np.load(shared_file(f"golden/open/{name}.onnx.npz")) as vectors:
        inputs = [[vectors[f"in0_{k}"]] for k in range(3)]
        outputs = np.stack([vectors[f"out0_{k}"].reshape(-1) for k in range(3)]).astype(np.float64)
    return inputs, outputs


def _outputs(compiled: Compiled, inputs: Samples, folder: Path) -> Reals:
    outputs = run_with(compiled, folder, inputs).outputs
    return np.stack([sample[0].reshape(-1) for sample in outputs]).astype(np.float64)


def _check_golden(name: str, target: str, library: Library, folder: Path) -> None:
    compiled = _compiled(name, target, library)
    inputs, expected = _golden(name)
    outputs = _outputs(compiled, inputs, folder)
    lsb = compiled.graph.outputs[0].tensor.type.scale
    difference = float(np.abs(outputs - expected).max()) / lsb
    print(f"{name} on {target}: at most {difference:.2f} LSB")
    assert difference <= MODELS[name]
    assert np.array_equal(outputs.argmax(axis=1), expected.argmax(axis=1))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_golden_on_host(name: str, library: Library, tmp_path: Path) -> None:
    _check_golden(name, "host", library, tmp_path)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_golden_on_cortex_m4(name: str, library: Library, tmp_path: Path) -> None:
    _check_golden(name, "mps2-an386", library, tmp_path)


@needs_onnxruntime
@pytest.mark.parametrize("name", MODELS)
def test_s2_05_operator_by_operator(name: str) -> None:
    found = validate(_compiled(name, "host"), samples=10)
    assert (found.oracle, found.exact) == (Oracle.ONNXRUNTIME, True)
    assert found.max_abs_diff <= 1


@needs_onnxruntime
@pytest.mark.parametrize("name", MODELS)
def test_argmax_of_random_inputs(name: str, tmp_path: Path) -> None:
    compiled = _compiled(name, "host")
    inputs = random_samples(compiled.graph.inputs, ON_HOST, seed=1)
    outputs = _outputs(compiled, inputs, tmp_path)
    runs = [run_onnxruntime(_model(name), sample)[0].reshape(-1) for sample in inputs]
    expected = np.stack(runs).astype(np.float64)
    agreeing = int(np.sum(outputs.argmax(axis=1) == expected.argmax(axis=1)))
    lsb = compiled.graph.outputs[0].tensor.type.scale
    print(f"{name}: argmax agrees on {agreeing}, at most {np.abs(outputs - expected).max() / lsb:.2f} LSB")
    assert agreeing >= 97


def test_keywords(tmp_path: Path) -> None:
    compiled = _compiled("kaijiang_kws_qdq", "host")
    stored = import_model(tflite_file("kws_ref_model")).inputs[0].external
    with np.load(shared_file("eval/kws01.npz")) as vectors:
        x, y = vectors["x"], vectors["y"]
    inputs = [[dequantize(sample, stored).reshape(1, 490)] for sample in x]
    right = int(np.sum(_outputs(compiled, inputs, tmp_path).argmax(axis=1) == y))
    print(f"keywords: {right} of 1000 right")
    assert right >= ONNXRUNTIME_RIGHT - ALLOWED_LOSS
