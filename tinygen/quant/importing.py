"""CTables from what other tools have decided: quantized networks, and files of ranges or scales by tensor name."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.types import DType, Quant
from tinygen.quant.agreement import faults
from tinygen.quant.calibrate import Identity, with_controls
from tinygen.quant.constraints import Group, filters, groups, weight_axis
from tinygen.quant.ctable import CTable, Kind, OpEntry, Storage, TensorEntry
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.scheme import Range, Scheme, affine, qm_n, symmetric_weights

Quants = Mapping[str, Quant]  # int8, by the normalized names of tensors

_SUFFIXES = re.compile(r"(_QuantizeLinear_Output|_DequantizeLinear_Output|:stored|:real|:quantized|:nchw|:own|')+$")
_TORCH = re.compile(r"^(.+?)\.(?:activation_post_process\.)?(scale|zero_point)$")
_UNSIGNED_OFFSET = 128
_ONNC_STEPS = 128


def normalized(name: str) -> str:
    """A tensor's name without what quantizers add."""
    return _SUFFIXES.sub("", name)


def quants_of_graph(graph: Graph) -> tuple[dict[str, Quant], dict[str, Quant]]:
    """Quantizations of a network's activations, and of its weights by the name of their operator's result."""
    activations = {
        normalized(t.name): t.type.quant
        for t in graph.tensors
        if t.type.quant is not None and t.type.quant.is_per_tensor and t.type.dtype is DType.INT8
    }
    weights = {}
    for op in graph.ops:
        constant = filters(op)[0] if filters(op) else None
        if constant is not None and constant.type.quant is not None:
            weights[normalized(op.results[0].name)] = constant.type.quant
    return activations, weights


def quants_of_ranges(ranges: Mapping[str, Range], scheme: Scheme = Scheme.ASYMMETRIC) -> dict[str, Quant]:
    """Quantizations of tensors whose ranges are known."""
    return {normalized(name): affine(range, DType.INT8, scheme) for name, range in ranges.items()}


def read_ort_ranges(file: Path) -> dict[str, Range]:
    """Ranges in the JSON that onnxruntime's `write_calibration_table` writes; CTableError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document.get("data", document)
        found = {name: Range(_number(e["lowest"]), _number(e["highest"])) for name, e in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(file, "calibration JSON of onnxruntime", error) from None
    return found


def read_onnc_thresholds(file: Path) -> dict[str, Quant]:
    """Scales in ONNC's text of NetCalibrationParameter: threshold / 128, zero point 0; CTableError."""
    try:
        text = file.read_text(encoding="utf-8")
        pairs = re.findall(r'name\s*:\s*"([^"]+)"[^{}]*?threshold_y\s*:\s*([-+.\deE]+)', text)
        found = {normalized(name): _threshold_quant(float(threshold)) for name, threshold in pairs}
        if not found:
            raise ValueError("no layer with name and threshold_y")
    except (OSError, ValueError) as error:
        raise _unreadable(file, "text of ONNC's NetCalibrationParameter", error) from None
    return found


def read_torch_scales(file: Path) -> dict[str, Quant]:
    """Scales of a fake-quantized PyTorch module: its state dict saved with numpy.savez, or as JSON; CTableError.

    Keys are `<module>.activation_post_process.scale` and `.zero_point`; values are quint8, or qint8 where a zero point
    is negative.
    """
    try:
        state = _state(file)
        found: dict[str, dict[str, float]] = {}
        for key, value in state.items():
            match, numbers = _TORCH.match(key), np.asarray(value).reshape(-1)
            if match and numbers.size == 1:
                found.setdefault(match[1], {})[match[2]] = float(numbers[0])
        is_signed = any(parts.get("zero_point", 0) < 0 for parts in found.values())
        quants = {n: _stored_quant(parts, is_signed) for n, parts in found.items() if "scale" in parts}
        if not quants:
            raise ValueError("no key that ends in activation_post_process.scale")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise _unreadable(file, "state dict of a fake-quantized module (.npz or .json)", error) from None
    return quants


def imported_table(graph: Graph, activations: Quants, weights: Quants, identity: Identity, provenance: str) -> CTable:
    """The table of a float network with quantizations from elsewhere, locked; CTableError where one is missing.

    What a tensor lacks it takes from those that share its range; weights that are not named keep their own range.
    """
    entries: dict[str, TensorEntry] = {}
    for group in groups(graph):
        entries |= _group_entries(group, activations, identity)
    ops: dict[str, OpEntry] = {}
    for op in graph.ops:
        constant = filters(op)[0] if filters(op) else None
        ops[op.name] = OpEntry(weights=None if constant is None else Storage.INT8)
        if constant is not None and constant.data is not None:
            own = symmetric_weights(constant.data, DType.INT8, weight_axis(op), Scheme.SYMMETRIC)
            given = weights.get(normalized(op.results[0].name))
            quant = own if given is None or any(given.zero_points) else _along(given, weight_axis(op))
            entries[constant.name] = _entry(Kind.WEIGHTS, quant, Scheme.SYMMETRIC, given is not None)
    ordered = {t.name: entries[t.name] for t in graph.tensors if t.name in entries}
    table = CTable(model=identity.model, target=identity.target, tensors=ordered, ops=ops)
    table = table.model_copy(update={"provenance": ({"step": provenance},)})
    return table if any(faults(groups(graph), table)) else with_controls(graph, table)


def _group_entries(group: Group, activations: Quants, identity: Identity) -> dict[str, TensorEntry]:
    known = {t.name: activations[normalized(t.name)] for t in group.tensors if normalized(t.name) in activations}
    default = group.fixed or next(iter(known.values()), None)
    if default is None:
        raise CTableError(
            Code.MISSING_TENSOR,
            f"{identity.model.name}: nothing is known of tensor '{group.name}', nor of those that share its range; "
            "scale or range were expected. Quantize that tensor too, or calibrate with --data.",
        )
    return {
        tensor.name: _entry(
            Kind.CONSTANT if tensor.is_constant else Kind.ACTIVATION,
            known.get(tensor.name, default),
            Scheme.ASYMMETRIC,
            tensor.name in known,
        )
        for tensor in group.tensors
    }


def _entry(kind: Kind, quant: Quant, scheme: Scheme, is_locked: bool) -> TensorEntry:
    low, high = (quant.scales[0] * (bound - quant.zero_points[0]) for bound in (DType.INT8.min, DType.INT8.max))
    is_weights = kind is Kind.WEIGHTS
    return TensorEntry(
        kind=kind,
        dtype=Storage.INT8,
        scheme=scheme,
        axis=None if quant.is_per_tensor else quant.axis,
        scale=quant.scales,
        zero_point=quant.zero_points,
        range=None if is_weights else (low, high),
        policy="imported" if is_locked else "derived",
        qm_n=qm_n(quant, DType.INT8),
        locked=is_locked,
    )


def _along(quant: Quant, axis: int) -> Quant:
    return quant if quant.is_per_tensor else Quant(quant.scales, quant.zero_points, axis)


def _number(value: object) -> float:
    """A number as onnxruntime's JSON has it: plain, or an array of one element."""
    data: Iterable[float] | float = value["data"] if isinstance(value, dict) else value  # type: ignore[assignment]
    number = float(np.asarray(data, np.float64).reshape(-1)[0])
    if not np.isfinite(number):
        raise ValueError(f"{number} is no finite number")
    return number


def _threshold_quant(threshold: float) -> Quant:
    if not (threshold > 0 and np.isfinite(threshold)):
        raise ValueError(f"threshold_y {threshold} is not above 0")
    return Quant((float(np.float32(threshold / _ONNC_STEPS)),), (0,))


def _state(file: Path) -> Mapping[str, object]:
    if file.suffix.lower() == ".json":
        document: Mapping[str, object] = json.loads(file.read_text(encoding="utf-8"))
        return document
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _stored_quant(parts: Mapping[str, float], is_signed: bool) -> Quant:
    scale, zero_point = parts["scale"], int(parts.get("zero_point", 0))
    if not (scale > 0 and np.isfinite(scale)):
        raise ValueError(f"scale {scale} is not above 0")
    return Quant((float(np.float32(scale)),), (zero_point - (0 if is_signed else _UNSIGNED_OFFSET),))


def _unreadable(file: Path, expected: str, error: Exception) -> UsageError:
    reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return CTableError(Code.SCHEMA, f"{file}: cannot be read ({reason}), {expected} was expected. Check the file.")
