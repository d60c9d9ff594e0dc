"""Tables from the files of other tools."""

import re
from enum import StrEnum
from pathlib import Path

from tinygen.calib.model import FloatModel
from tinygen.errors import UsageError
from tinygen.frontends import import_model
from tinygen.ir.types import Quant
from tinygen.quant.calibrate import Identity
from tinygen.quant.ctable import CTable
from tinygen.quant.importing import (
    imported_table,
    normalized,
    quants_of_graph,
    quants_of_ranges,
    read_onnc_thresholds,
    read_ort_ranges,
    read_torch_scales,
)


class Origin(StrEnum):
    """What a file is."""

    QDQ = "qdq"  # ONNX with QuantizeLinear and DequantizeLinear
    TFLITE = "tflite"
    ORT = "ort"  # calibration JSON of onnxruntime
    TORCH = "torch"  # state dict of a fake-quantized module, as .npz or JSON
    ONNC = "onnc"  # text of NetCalibrationParameter


_EXPORTED = re.compile(r"^/(.+)/[^/]+_output_\d+$")
_BY_SUFFIX = {
    ".onnx": Origin.QDQ,
    ".tflite": Origin.TFLITE,
    ".json": Origin.ORT,
    ".npz": Origin.TORCH,
    ".prototxt": Origin.ONNC,
    ".txt": Origin.ONNC,
}


def import_table(source: Path, model: FloatModel, origin: Origin | None = None) -> CTable:
    """The table of a float model with what the file says; its ranges are locked. UsageError, CTableError."""
    kind = origin or _BY_SUFFIX.get(source.suffix.lower())
    if kind is None:
        raise UsageError(
            f"{source}: has the suffix '{source.suffix}', one of {', '.join(_BY_SUFFIX)} was expected. "
            "Say what it is with --from."
        )
    activations, weights = _quants(source, kind, model)
    return imported_table(model.graph, activations, weights, Identity(model.identity), f"import-{kind.value}")


def _quants(source: Path, kind: Origin, model: FloatModel) -> tuple[dict[str, Quant], dict[str, Quant]]:
    match kind:
        case Origin.QDQ | Origin.TFLITE:
            return quants_of_graph(import_model(source))
        case Origin.ORT:
            return quants_of_ranges(read_ort_ranges(source)), {}
        case Origin.TORCH:
            return _by_tensor(read_torch_scales(source), model), {}
    return read_onnc_thresholds(source), {}


def _by_tensor(modules: dict[str, Quant], model: FloatModel) -> dict[str, Quant]:
    """Quantizations of modules by the names of their results in PyTorch's ONNX export, as /conv/Conv_output_0."""
    found = dict(modules)
    for tensor in model.graph.tensors:
        match = _EXPORTED.match(tensor.name)
        if match and match[1].replace("/", ".") in modules:
            found[normalized(tensor.name)] = modules[match[1].replace("/", ".")]
    return found
