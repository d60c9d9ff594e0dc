"""Tables from the files of other tools."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path

import numpy as np

from tinygen.calib.model import FloatModel
from tinygen.errors import UsageError
from tinygen.frontends import import_model
from tinygen.frontends.doors import model_file
from tinygen.frontends.onnx.modules import modules_of_results
from tinygen.frontends.onnx.shifts import scales_of_shifts
from tinygen.ir.types import Array, DType, Quant
from tinygen.quant.calibrate import Identity
from tinygen.quant.ctable import CTable, Storage
from tinygen.quant.importing import (
    imported_table,
    normalized,
    quants_of_graph,
    quants_of_ranges,
    read_onnc_shifts,
    read_onnc_thresholds,
    read_ort_ranges,
    read_torch_scales,
    unreadable_table,
)
from tinygen.quant.widths import ALL_INT8, Widths


class Origin(StrEnum):
    """What a file is."""

    QDQ = "qdq"  # ONNX with QuantizeLinear and DequantizeLinear
    TFLITE = "tflite"
    ORT = "ort"  # calibration JSON of onnxruntime
    TORCH = "torch"  # state dict of a fake-quantized module, as .pt, .npz or JSON
    ONNC = "onnc"  # text of NetCalibrationParameter, or a list of shifts


_BY_SUFFIX = {
    ".onnx": Origin.QDQ,
    ".tflite": Origin.TFLITE,
    ".json": Origin.ORT,
    ".npz": Origin.TORCH,
    ".pt": Origin.TORCH,
    ".pth": Origin.TORCH,
    ".prototxt": Origin.ONNC,
    ".txt": Origin.ONNC,
}


def import_table(source: Path, model: FloatModel, origin: Origin | None = None, widths: Widths = ALL_INT8) -> CTable:
    """The table of a float model with what the file says; its ranges are locked. UsageError, CTableError.

    `widths` say how many bits weights have; activations have eight.
    """
    asked = {widths.activations, *(override.activations for override in widths.overrides)}
    if asked != {Storage.INT8}:
        raise UsageError(
            "--activations, --op: ranges of other tools are of int8 activations, no others were expected. Leave it out."
        )
    kind = origin or _BY_SUFFIX.get(source.suffix.lower())
    if kind is None:
        raise UsageError(
            f"{source}: has the suffix '{source.suffix}', one of {', '.join(_BY_SUFFIX)} was expected. "
            "Say what it is with --from."
        )
    activations, weights = _quants(source, kind, model)
    return imported_table(model.graph, activations, weights, Identity(model.identity), f"import-{kind.value}", widths)


def _quants(source: Path, kind: Origin, model: FloatModel) -> tuple[dict[str, Quant], dict[str, Quant]]:
    match kind:
        case Origin.QDQ | Origin.TFLITE:
            return quants_of_graph(import_model(source))
        case Origin.ORT:
            return quants_of_ranges(read_ort_ranges(source)), {}
        case Origin.TORCH:
            activations, weights = read_torch_scales(source, _read_pt)
            return _of_modules(activations, weights, model)
    shifts = read_onnc_shifts(source)
    return (read_onnc_thresholds(source), {}) if shifts is None else _of_shifts(source, shifts, model)


def _of_shifts(source: Path, shifts: Sequence[int], model: FloatModel) -> tuple[dict[str, Quant], dict[str, Quant]]:
    """Powers of two by tensor, and scale 1 of all weights that are integers, by their operator's result."""
    file = model_file(model.path)
    try:
        if file.suffix.lower() != ".onnx":
            raise ValueError("it counts the nodes of an ONNX file, which the model is none of")
        scales = scales_of_shifts(file, shifts)
    except ValueError as error:
        raise unreadable_table(source, "list of shifts of ONNC", error) from None
    weights = {
        normalized(op.results[0].name): Quant((1.0,), (0,))
        for op in model.graph.ops
        if op.filters is not None and (data := op.filters.weights.data) is not None and _are_int8(data)
    }
    return {normalized(name): Quant((scale,), (0,)) for name, scale in scales.items()}, weights


def _are_int8(weights: Array) -> bool:
    """Whether int8 of scale 1 holds them, without -128."""
    most = DType.INT8.max
    return bool((np.rint(weights) == weights).all() and (np.abs(weights) <= most).all())


def _read_pt(file: Path) -> Mapping[str, object]:
    state: Mapping[str, object] = import_module("tinygen.frontends.pytorch").load_state(file)  # loads torch
    return state


def _of_modules(
    activations: Mapping[str, Quant], weights: Mapping[str, Quant], model: FloatModel
) -> tuple[dict[str, Quant], dict[str, Quant]]:
    """Quantizations of modules as those of tensors, and those of weights by their operator's result.

    A module is found by the name of a tensor, or by what PyTorch's exporters write of modules into ONNX files.
    """
    file = model_file(model.path)
    modules = modules_of_results(file) if file.suffix.lower() == ".onnx" else {}
    owners = {normalized(tensor.name): [tensor.name] for tensor in model.graph.tensors}
    of_weights: dict[str, Quant] = {}
    for op in model.graph.ops:
        result = normalized(op.results[0].name)  # of an operator that was fused into this one, perhaps
        owned = (*modules.get(op.results[0].name, ()), *modules.get(op.name, ()))
        owners[result] += owned
        if op.filters is not None:
            of_weights |= [(result, weights[name]) for name in owned if name in weights]
    known = {tensor: [name for name in names if name in activations] for tensor, names in owners.items()}
    found = {tensor: activations[names[0]] for tensor, names in known.items() if names}
    unused = activations.keys() - {name for names in known.values() for name in names}
    inputs = [tensor.name for tensor in model.graph.input_tensors if normalized(tensor.name) not in found]
    if len(unused) == len(inputs) == 1:  # a QuantStub, which is no operator
        found[normalized(inputs[0])] = activations[unused.pop()]
    return found, of_weights
