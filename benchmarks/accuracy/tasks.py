"""Labelled data, and the float network of each task, as they stand in this folder, in examples/ and in `../shared`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import keywords
from benchmarks.accuracy.clicks import Visits, visits
from benchmarks.accuracy.files import files, tokens
from tinygen.frontends import import_model
from tinygen.ir.types import Float32Array
from tinygen.mlperf.metrics import binary_auc
from tinygen.ops.quantize import dequantize

FOLDER = Path(__file__).parent
_DIGITS = FOLDER.parents[1] / "examples" / "digits"
_PIXEL_MAX = 16
_KNOWN_VISITS, _VISITS = 500, 20_000
_KNOWN_FILES, _FILES = 48, 96

Labels = npt.NDArray[np.integer | np.bool_]
Samples = Mapping[str, npt.NDArray[np.generic]]  # by input


@dataclass(frozen=True)
class Task:
    """A float network with samples to calibrate on, and others to measure."""

    name: str
    model: Path
    known: Samples
    test: Samples
    labels: Labels  # of the latter
    most_drop: float  # of the metric, as a share
    metric: Callable[[npt.NDArray[np.floating], Labels], float]  # of scores [N, ...] and labels


def right(scores: npt.NDArray[np.floating], labels: Labels) -> float:
    """Share of samples whose largest score is their label's."""
    return float((scores.reshape(len(labels), -1).argmax(axis=1) == labels).mean())


def area(scores: npt.NDArray[np.floating], labels: Labels) -> float:
    """Under the ROC curve."""
    found = binary_auc(scores.reshape(-1).astype(np.float64), labels.astype(bool))
    assert found is not None
    return found


def digits_samples() -> tuple[tuple[Float32Array, Labels], tuple[Float32Array, Labels]]:
    """scikit-learn's digits [N, 1, 8, 8] with labels: 300 that networks were trained on, and the 364 held out."""
    with np.load(FOLDER / "digits_calibration.npz") as data:
        known = (data["pixels"] / _PIXEL_MAX).astype(np.float32), data["labels"]
    type = import_model(_DIGITS / "digits_int8.tflite").inputs[0].tensor.type
    with np.load(_DIGITS / "digits_test.npz") as data:
        images = np.rint(dequantize(data["in0"], type) * _PIXEL_MAX) / _PIXEL_MAX  # whole pixels, as they were
        test = images.astype(np.float32).reshape(-1, 1, 8, 8), data["labels"]
    return known, test


def digits(network: str) -> Task:
    """Of ten classes."""
    (known, _), (test, labels) = digits_samples()
    model = FOLDER / f"digits_{network}.onnx"
    return Task(f"digits, {network}", model, {"in0": known}, {"in0": test}, labels, 0.01, right)


def clicks() -> Task:
    """Visits of a made-up shop."""
    known, test = visits(_KNOWN_VISITS, seed=101), visits(_VISITS, seed=102)
    return Task("clicks", FOLDER / "clicks.onnx", _arrays(known), _arrays(test), test.clicks, 0.001, area)


def _arrays(found: Visits) -> Samples:
    return {f"in{number}": array for number, array in enumerate(found.arrays().values())}


def spoken() -> Task:
    """Keywords of MLPerf Tiny, of twelve classes; needs `../shared`."""
    images, labels = keywords.official_inputs()
    count = keywords.CALIBRATION
    return Task(
        "keywords", keywords.MODEL, {"in0": images[:count]}, {"in0": images[count:]}, labels[count:], 0.01, right
    )


def magika() -> Path | None:
    """The folder of the network that the package magika brings; None where it is not installed."""
    found = find_spec("magika")
    return None if found is None or found.origin is None else Path(found.origin).parent / "models" / "standard_v3_3"


def file_types() -> Task:
    """Files of 24 types, made up, for the float network of the package magika."""
    folder = magika()
    if folder is None:
        raise SystemExit("magika: is not installed, it brings the network of file types. Run make setup.")
    names = json.loads((folder / "config.min.json").read_text(encoding="utf-8"))["target_labels_space"]
    (known, _), (test, labels) = (_tokens(count, seed) for count, seed in ((_KNOWN_FILES, 101), (_FILES, 102)))
    places = np.array([names.index(type) for type in labels])
    return Task("file types", folder / "model.onnx", {"in0": known}, {"in0": test}, places, 0.01, right)


def _tokens(count: int, seed: int) -> tuple[npt.NDArray[np.int32], list[str]]:
    made = files(count, seed)
    return np.stack([tokens(content) for _, content in made]), [type for type, _ in made]
