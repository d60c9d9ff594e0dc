"""Keyword spotting calibrated on 100 of the official inputs, and how many of the other 900 its C has right.

Needs `../shared`, which holds the inputs; numbers of pages that name `kws_fp32_qualcomm` come from here.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tinygen.frontends import import_model
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.planner.schedule.constants import const_bytes
from tinygen.system.work import work_folder

_SHARED = Path(__file__).resolve().parents[2] / "shared"
MODELS = _SHARED / "models" / "mlperf_tiny"
MODEL = MODELS / "kws_fp32_qualcomm.tflite"
OFFICIAL = _SHARED / "eval" / "kws01.npz"  # the benchmark's inputs x, and labels y
CALIBRATION = 100  # inputs, of 1,000


def official_inputs() -> tuple[Float32Array, npt.NDArray[np.integer[Any]]]:
    """The inputs as real numbers, and their labels; the first `CALIBRATION` are for calibration."""
    reference = import_model(MODELS / "kws_ref_model.tflite")
    with np.load(OFFICIAL) as data:
        return dequantize(data["x"], reference.inputs[0].tensor.type).astype(np.float32), data["y"]


def first_keywords(folder: Path) -> Path:
    """A file of the inputs for calibration, with their labels."""
    images, labels = official_inputs()
    file = folder / "first100.npz"
    np.savez(file, in0=images[:CALIBRATION], labels=labels[:CALIBRATION])
    return file


@dataclass(frozen=True)
class Keywords:
    """What a calibration keeps."""

    right: int  # of 900
    share: float  # that is
    const_bytes: int  # on the host


@cache
def keywords(options: tuple[str, ...]) -> Keywords:
    """By `tinygen calibrate` with these options, in the generated C on the host."""
    return calibrated(options)[0]


def calibrated(options: Sequence[str]) -> tuple[Keywords, Any]:
    """The same, and the JSON that `tinygen calibrate` prints."""
    images, labels = official_inputs()
    with work_folder() as folder:
        table = folder / "t.ctable.json"
        asked = ["calibrate", str(MODEL), "--data", str(first_keywords(folder)), "-o", str(table), *options, "--json"]
        command = [sys.executable, "-c", "from tinygen.cli import main; main()", *asked]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        compiled = compile_model(MODEL, Options(ctable=table, target="host"))
    outputs = compiled.execute([[image[np.newaxis]] for image in images[CALIBRATION:]]).outputs
    scores = np.concatenate([sample[0] for sample in outputs]).reshape(len(outputs), -1)
    right = int((scores.argmax(axis=1) == labels[CALIBRATION:]).sum())
    return Keywords(right, right / len(outputs), const_bytes(compiled.schedule)), said
