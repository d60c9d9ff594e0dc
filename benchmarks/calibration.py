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

from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.mixed import Mixing, constant_bytes, mix
from tinygen.calib.model import FloatModel, load_float
from tinygen.exports.onnx_export import export_onnx
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.dataset import open_dataset
from tinygen.quant.forward import NumpyForward, forward_of
from tinygen.quant.metric import Metric, measure, scores_tensor
from tinygen.quant.policy import Policy
from tinygen.quant.widths import Override, Widths
from tinygen.system.work import work_folder

Labels = npt.NDArray[np.integer]

SHARED = Path(__file__).resolve().parents[2] / "shared"
MODELS = ("ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "pretrainedResnet_large_float", "vww_96_float")
KEYWORDS = "kws_fp32_qualcomm"
POLICIES = ("max", "mse", "l2", "l1", "percentile:99.99", "kld")

_SAMPLES = 500
_UNSEEN = 32
_CALIBRATION = 100  # keywords, of 1000
_FLASH_BYTES = 20 << 10
_INTRODUCTION = """# Calibration

By `python -m benchmarks.calibration`: 500 samples, processor time of all threads, default policy. The target is
1.5 times inference alone, and 5 seconds. Images are smooth noise: SQNR and cosine compare settings, they are no
accuracy.

"""
_OUT = Path(__file__).with_suffix("")


@dataclass(frozen=True)
class Cost:
    """One model: seconds of processor time on all threads, and how near int8 is on samples that were not seen."""

    model: str
    inference_seconds: float  # onnxruntime alone, 500 samples
    calibration_seconds: float
    target_seconds: float
    cosine: float  # of scores, as the next
    sqnr_db: float  # of w8a8, as the others of their widths
    sqnr_w4a8_db: float
    sqnr_w8a16_db: float


@dataclass(frozen=True)
class Accuracy:
    """Keywords: right ones of 900 that were not seen."""

    settings: str
    right: int
    percent: float
    constant_bytes: int | None  # None for the float network


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
    batches, unseen = np.array_split(images[:_SAMPLES], 16), images[_SAMPLES:]
    found, real = _scores(model, calibration, unseen)
    sqnr, cosine = (measure(metric, found, real, None) for metric in (Metric.SQNR, Metric.COSINE))
    others = []
    for widths in (Widths(Storage.INT4), Widths(activations=Storage.INT16)):
        found, _ = _scores(model, Calibrator(model, settings=Settings(widths=widths)).run(batches), unseen)
        others.append(round(measure(Metric.SQNR, found, real, None), 2))
    target = round(1.5 * inference + 5, 2)
    return Cost(name, round(inference, 2), round(seconds, 2), target, round(cosine, 6), round(sqnr, 2), *others)


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
        known, labels = np.split(data["y"], [_CALIBRATION])
    model, unseen = load_float(path), images[_CALIBRATION:]
    rows = [_accuracy("float32", _float_scores(model.graph, unseen), labels)]
    plain = [(policy, Settings(policy=Policy.parse(policy))) for policy in POLICIES]
    widths = [
        ("mse, w4a8", Settings(widths=Widths(Storage.INT4))),
        ("mse, w8a16", Settings(widths=Widths(activations=Storage.INT16))),
        ("mse, w8a16 from the last layer on", Settings(widths=Widths(overrides=_last_layers(model.graph)))),
    ]
    for name, settings in (*plain, *widths):
        rows.append(_run(name, path, Calibrator(model, settings=settings).run([images[:_CALIBRATION]]), unseen, labels))
    with work_folder() as folder:
        np.savez(folder / "x.npz", in0=images[:_CALIBRATION], labels=known)
        samples = open_dataset(folder / "x.npz", model.graph.inputs)
        mixed = mix(Calibrator(model), samples, Mixing(flash_bytes=_FLASH_BYTES))
    narrow = sum(layer.weights is Storage.INT4 for layer in mixed.mixture.layers)
    label = f"mse, --mixed auto --flash 20k: w4a8 in {narrow} layers of {len(mixed.mixture.layers)}"
    rows.append(_run(label, path, mixed.calibration, unseen, labels))
    return rows


def _last_layers(graph: Graph) -> tuple[Override, ...]:
    """The last convolution or fully connected layer, and what stands behind it, on int16."""
    layers = [index for index, op in enumerate(graph.ops) if op.macs]
    return tuple(Override(op.name, Storage.INT8, Storage.INT16) for op in graph.ops[layers[-1] :])


def _run(name: str, path: Path, calibration: Calibration, unseen: Float32Array, labels: Labels) -> Accuracy:
    """In the generated C."""
    with work_folder() as folder:
        calibration.save(folder / "t.ctable.json")
        compiled = compile_model(path, Options(ctable=folder / "t.ctable.json", target="host"))
    outputs = compiled.execute([[image[np.newaxis]] for image in unseen]).outputs
    return _accuracy(name, np.concatenate([sample[0] for sample in outputs]), labels, constant_bytes(calibration.graph))


def _float_scores(graph: Graph, images: Float32Array) -> npt.NDArray[np.generic]:
    name = graph.outputs[0].tensor.name
    return forward_of(graph, [name]).run([images])[name]


def _accuracy(
    settings: str, scores: npt.NDArray[np.generic], labels: Labels, constant_bytes: int | None = None
) -> Accuracy:
    right = int(np.sum(scores.reshape(len(labels), -1).argmax(axis=1) == labels))
    return Accuracy(settings, right, round(100 * right / len(labels), 2), constant_bytes)


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    return "".join(f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n" for line in lines)


def main() -> None:
    """Measure and write both files."""
    costs, keywords = [cost(name) for name in (KEYWORDS, *MODELS)], accuracies()
    document = {"costs": [asdict(c) for c in costs], "keywords": [asdict(a) for a in keywords]}
    _OUT.with_suffix(".json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    times = ("inference alone, s", "calibration, s", "target, s")
    head = ("model", *times, "cosine of scores", "SQNR of scores w8a8, dB", "w4a8", "w8a16")
    text = _INTRODUCTION + _table(head, [tuple(asdict(c).values()) for c in costs])
    text += (
        f"\nKeyword spotting ({KEYWORDS}), calibrated on {_CALIBRATION} of the official inputs, tested on the others:\n"
    )
    text += "\n" + _table(
        ("policy, widths", "right of 900", "%", "constants, bytes"), [tuple(asdict(a).values()) for a in keywords]
    )
    _OUT.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
