"""Calibration of the MLPerf Tiny float models; `python -m benchmarks.calibration` writes calibration.md and .json.

Asks for `../shared` and onnxruntime. Only keyword spotting has real data there; the others get smooth random images.
"""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from tinygen.calib.calibrator import Calibration, Calibrator, forward_of
from tinygen.calib.model import FloatModel, load_float
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.pipeline import Options, compile_model, work_folder
from tinygen.quant.calibrate import Settings
from tinygen.quant.forward import NumpyForward
from tinygen.quant.metric import Metric, measure, scores_tensor
from tinygen.quant.onnx_export import export_onnx
from tinygen.quant.policy import Policy

SHARED = Path(__file__).resolve().parents[2] / "shared"
MODELS = ("ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "pretrainedResnet_large_float", "vww_96_float")
KEYWORDS = "kws_fp32_qualcomm"
POLICIES = ("max", "mse", "l2", "l1", "percentile:99.99", "kld")

_SAMPLES = 500
_UNSEEN = 32
_CALIBRATION = 100  # keywords, of 1000
_INTRODUCTION = """# Calibration

By `python -m benchmarks.calibration`: 500 samples, processor time of all threads, default policy.
Images are smooth noise: SQNR and cosine compare settings, they are no accuracy.

"""
_OUT = Path(__file__).with_suffix("")


@dataclass(frozen=True)
class Cost:
    """One model: seconds of processor time on all threads, and how near int8 is on samples that were not seen."""

    model: str
    inference_seconds: float  # onnxruntime alone, 500 samples
    calibration_seconds: float
    sqnr_db: float
    cosine: float


@dataclass(frozen=True)
class Accuracy:
    """Keywords: right ones of 900 that were not seen."""

    policy: str
    right: int
    percent: float


def smooth_images(count: int, shape: tuple[int, ...]) -> Float32Array:
    """Random images whose neighbouring pixels are alike, in [0, 1]; vectors of noise where there is no image."""
    images = np.random.default_rng(0).normal(0, 1, (count, *shape))
    for axis in range(1, images.ndim - 1):
        for distance in (1, 2, 4):
            images = images + np.roll(images, distance, axis)
    low, high = images.min(), images.max()
    scaled: Float32Array = ((images - low) / (high - low)).astype(np.float32)
    return scaled


def cost(name: str) -> Cost:
    """Measure one model."""
    model = load_float(SHARED / "models" / "mlperf_tiny" / f"{name}.tflite")
    images = smooth_images(_SAMPLES + _UNSEEN, model.graph.inputs[0].external.shape[1:])
    session = onnxruntime.InferenceSession(export_onnx(model.graph).SerializeToString())
    port = session.get_inputs()[0].name
    start = time.process_time()
    for image in images[:_SAMPLES]:
        session.run(None, {port: image[np.newaxis]})
    inference = time.process_time() - start
    start = time.process_time()
    calibration = Calibrator(model).run(np.array_split(images[:_SAMPLES], 16))
    seconds = time.process_time() - start
    found, real = _scores(model, calibration, images[_SAMPLES:])
    sqnr, cosine = (measure(metric, found, real, None) for metric in (Metric.SQNR, Metric.COSINE))
    return Cost(name, round(inference, 2), round(seconds, 2), round(sqnr, 2), round(cosine, 6))


def _scores(
    model: FloatModel, calibration: Calibration, images: Float32Array
) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.generic]]:
    """The scores of the int8 network as real numbers, and those of the float network."""
    name, quantized = scores_tensor(model.graph).name, calibration.graph
    type = next(tensor.type for tensor in quantized.tensors if tensor.name == name)
    stored = NumpyForward(quantized, [name]).run([images])[name]
    return dequantize(stored, type), forward_of(model.graph, [name]).run([images])[name]


def accuracies() -> list[Accuracy]:
    """Keyword spotting by policy, in the generated C on the host, after the float network."""
    reference = import_model(SHARED / "models" / "mlperf_tiny" / "kws_ref_model.tflite")
    path = SHARED / "models" / "mlperf_tiny" / f"{KEYWORDS}.tflite"
    with np.load(SHARED / "eval" / "kws01.npz") as data:
        images = dequantize(data["x"], reference.inputs[0].tensor.type).astype(np.float32)
        labels = data["y"][_CALIBRATION:]
    model, unseen = load_float(path), images[_CALIBRATION:]
    rows = [_accuracy("float32", _float_scores(model.graph, unseen), labels)]
    for policy in POLICIES:
        settings = Settings(policy=Policy.parse(policy))
        with work_folder() as folder:
            table = folder / "t.ctable.json"
            Calibrator(model, settings=settings).run([images[:_CALIBRATION]]).save(table)
            compiled = compile_model(path, Options(ctable=table))
        outputs = compiled.execute([[image[np.newaxis]] for image in unseen]).outputs
        rows.append(_accuracy(policy, np.concatenate([sample[0] for sample in outputs]), labels))
    return rows


def _float_scores(graph: Graph, images: Float32Array) -> npt.NDArray[np.generic]:
    name = graph.outputs[0].tensor.name
    return forward_of(graph, [name]).run([images])[name]


def _accuracy(policy: str, scores: npt.NDArray[np.generic], labels: npt.NDArray[np.integer]) -> Accuracy:
    right = int(np.sum(scores.reshape(len(labels), -1).argmax(axis=1) == labels))
    return Accuracy(policy, right, round(100 * right / len(labels), 2))


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main() -> None:
    """Measure and write both files."""
    costs, keywords = [cost(name) for name in (KEYWORDS, *MODELS)], accuracies()
    document = {"costs": [asdict(c) for c in costs], "keywords": [asdict(a) for a in keywords]}
    _OUT.with_suffix(".json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    head = ("model", "inference alone, s", "calibration, s", "SQNR of scores, dB", "cosine of scores")
    text = _INTRODUCTION + _table(head, [tuple(asdict(c).values()) for c in costs])
    text += (
        f"\nKeyword spotting ({KEYWORDS}), calibrated on {_CALIBRATION} of the official inputs, tested on the others:\n"
    )
    text += "\n" + _table(("policy", "right of 900", "%"), [tuple(asdict(a).values()) for a in keywords])
    _OUT.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
