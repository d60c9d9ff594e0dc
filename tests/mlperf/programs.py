"""Firmware of the five tasks with the reference models, and inputs whose results TFLite Micro has given."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.support.models import compiled_model, golden_tflm
from tinygen.build.output import write_folder
from tinygen.ir.types import Array, TensorType
from tinygen.kernels.base import Library
from tinygen.mlperf.firmware import firmware_files
from tinygen.mlperf.tasks import InputForm, Task
from tinygen.pipeline import Compiled

MODELS = {
    "kws": "kws_ref_model",
    "ic": "pretrainedResnet_quant",
    "vww": "vww_96_int8",
    "ad": "ad01_int8",
    "sww": "str_ww_ref_model",
}


@dataclass(frozen=True)
class Vector:
    """A download and the results that the firmware prints for it."""

    download: bytes
    results: tuple[float, ...]


def write_firmware(task: Task, target: str, folder: Path, library: Library = Library.PORTABLE) -> Compiled:
    """The firmware folder of a task's reference model."""
    compiled = compiled_model(MODELS[task.name], target, library)
    files = firmware_files(task, compiled.network(), compiled.trees, compiled.opt)
    write_folder(folder, files)
    return compiled


def vectors(task: Task, compiled: Compiled) -> list[Vector]:
    """Random inputs as the runner would send them, with the outputs of TFLite Micro as the runner would read them."""
    inputs, outputs = golden_tflm(MODELS[task.name], compiled)
    return [_vector(task, compiled, x[0], y[0]) for x, y in zip(inputs, outputs, strict=True)]


def _vector(task: Task, compiled: Compiled, stored: Array, output: Array) -> Vector:
    real = _real(compiled.graph.outputs[0].tensor.type, output)
    match task.form:
        case InputForm.FEATURES:
            download = stored.tobytes()
        case InputForm.IMAGE:
            download = (stored.astype(np.int16) + 128).astype(np.uint8).tobytes()
        case InputForm.WINDOW:
            window = _real(compiled.graph.inputs[0].tensor.type, stored).astype(np.float32)
            error = np.mean((window.astype(np.float64) - real) ** 2)
            return Vector(window.tobytes(), (round(float(error), 3),))
    return Vector(download, tuple(float(value) for value in np.floor(real.ravel() * 1000) / 1000))


def _real(kind: TensorType, stored: Array) -> npt.NDArray[np.float64]:
    assert kind.quant is not None
    return np.asarray((stored.astype(np.float64) - kind.quant.zero_point) * kind.quant.scale)
