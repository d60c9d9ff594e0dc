"""CTables from what other tools have decided: quantized networks, and files of ranges or scales by tensor name."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, DType, Quant
from tinygen.quant.agreement import faults
from tinygen.quant.calibrate import Identity, with_controls
from tinygen.quant.constraints import Group, groups
from tinygen.quant.ctable import CTable, OpEntry, Storage, TensorEntry, TensorKind
from tinygen.quant.dataset import UNREADABLE
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.scheme import RealRange, Scheme, affine, qm_n
from tinygen.quant.weight_scales import weight_quant
from tinygen.quant.widths import ALL_INT8, Widths, has_narrow_form

Quants = Mapping[str, Quant]  # int8, by the normalized names of tensors

_SUFFIXES = re.compile(r"(_QuantizeLinear_Output|_DequantizeLinear_Output|:stored|:real|:quantized|:nchw|:own|')+$")
_WRONG = (*UNREADABLE, TypeError, AttributeError)  # what other contents than expected lead to
_TORCH = re.compile(r"^(.+?)\.(?:(weight_fake_quant|activation_post_process)\.)?(scale|zero_point)$")
_TORCH_WEIGHTS = "weight_fake_quant"
_TORCH_FX = re.compile(r"activation_post_process_\d+")
_TORCH_LEAST = re.compile(r"^(.+?)\.(?:activation_post_process\.)+min_val$")
_UNSIGNED_OFFSET = 128
_ONNC_STEPS = 128
_SHIFT = re.compile(r"[-+]?[0-9]{1,9}")


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
        if op.filters is not None and op.filters.weights.type.quant is not None:
            weights[normalized(op.results[0].name)] = op.filters.weights.type.quant
    return activations, weights


def quants_of_ranges(ranges: Mapping[str, RealRange], scheme: Scheme = Scheme.ASYMMETRIC) -> dict[str, Quant]:
    """Quantizations of tensors whose ranges are known."""
    return {normalized(name): affine(range, DType.INT8, scheme) for name, range in ranges.items()}


def read_ort_ranges(file: Path) -> dict[str, RealRange]:
    """Ranges in the JSON that onnxruntime's `write_calibration_table` writes; CTableError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document.get("data", document)
        found = {name: RealRange(_number(e["lowest"]), _number(e["highest"])) for name, e in entries.items()}
    except _WRONG as error:
        raise unreadable_table(file, "calibration JSON of onnxruntime", error) from None
    return found


def read_onnc_thresholds(file: Path) -> dict[str, Quant]:
    """Scales in ONNC's text of NetCalibrationParameter: threshold / 128, zero point 0; CTableError."""
    try:
        text = file.read_text(encoding="utf-8")
        pairs = re.findall(r'name\s*:\s*"([^"]+)"[^{}]*?threshold_y\s*:\s*([-+.\deE]+)', text)
        found = {normalized(name): _threshold_quant(float(threshold)) for name, threshold in pairs}
        if not found:
            raise ValueError("no layer with name and threshold_y")
    except _WRONG as error:
        raise unreadable_table(file, "text of ONNC's NetCalibrationParameter", error) from None
    return found


def read_onnc_shifts(file: Path) -> tuple[int, ...] | None:
    """The integers of ONNC's list of shifts for Cortex-M, parted by commas; None of another text. CTableError."""
    try:
        text = file.read_text(encoding="utf-8")
    except _WRONG as error:
        raise unreadable_table(file, "list of shifts of ONNC", error) from None
    found = [part.strip() for part in text.strip().rstrip(",").split(",")]
    return tuple(map(int, found)) if all(map(_SHIFT.fullmatch, found)) else None


def read_torch_scales(
    file: Path, read_pt: Callable[[Path], Mapping[str, object]]
) -> tuple[dict[str, Quant], dict[str, Quant]]:
    """Quantizations in the state dict of a fake-quantized PyTorch module: of results and of weights, by module.

    The dict stands in a .pt file, or was saved with numpy.savez or as JSON. Keys are
    `<module>.activation_post_process.scale` and `.zero_point`, of quint8, or of qint8 where a zero point is negative or
    observed values are below what quint8 holds, and `<module>.weight_fake_quant.scale`, of qint8. CTableError.
    """
    try:
        found: dict[str, dict[str, Array]] = {}
        of_weights: dict[str, dict[str, Array]] = {}
        least: dict[str, float] = {}
        for key, value in _state(file, read_pt).items():
            numbers = np.asarray(value).reshape(-1)
            if (match := _TORCH.match(key)) is not None:
                (of_weights if match[2] == _TORCH_WEIGHTS else found).setdefault(match[1], {})[match[3]] = numbers
            elif (match := _TORCH_LEAST.match(key)) is not None and numbers.size == 1:
                least[match[1]] = float(numbers[0])
        quants = {
            n: _stored_quant(parts) for n, parts in found.items() if "scale" in parts and parts["scale"].size == 1
        }
        weights = {name: _stored_quant(parts) for name, parts in of_weights.items() if "scale" in parts}
        if not quants:
            raise ValueError("no key that ends in activation_post_process.scale")
        if all(map(_TORCH_FX.fullmatch, quants)):
            raise ValueError("its ranges are numbered, as of an FX graph, and name no module; export QDQ ONNX of it")
    except _WRONG as error:
        raise unreadable_table(file, "state dict of a fake-quantized module (.pt, .npz or .json)", error) from None
    if any(_is_signed(quant, least.get(name, 0.0)) for name, quant in quants.items()):
        return quants, weights
    return {n: Quant(quant.scales, (quant.zero_point - _UNSIGNED_OFFSET,)) for n, quant in quants.items()}, weights


def imported_table(
    graph: Graph,
    activations: Quants,
    weights: Quants,
    identity: Identity,
    provenance: str,
    widths: Widths = ALL_INT8,
) -> CTable:
    """The table of a float network with quantizations from elsewhere, locked; CTableError where one is missing.

    What a tensor lacks it takes from those that share its range; weights that are not named keep their own range.
    """
    entries: dict[str, TensorEntry] = {}
    for group in groups(graph):
        entries |= _group_entries(group, activations, identity)
    ops: dict[str, OpEntry] = {}
    for op in graph.ops:
        storage = widths.of(op) if has_narrow_form(op) else Storage.INT8
        ops[op.name] = OpEntry(weights=None if op.filters is None else storage)
        if op.filters is not None and (constant := op.filters.weights).data is not None:
            axis = op.filters.channel_axis
            dtype = storage.weight_dtype
            own = weight_quant(constant.data, dtype, axis, Scheme.SYMMETRIC, storage.bits_in(dtype))
            given = weights.get(normalized(op.results[0].name))
            quant = own if given is None or any(given.zero_points) else _along(given, axis)
            entries[constant.name] = _entry(TensorKind.WEIGHTS, quant, Scheme.SYMMETRIC, given is not None, storage)
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
            TensorKind.CONSTANT if tensor.is_constant else TensorKind.ACTIVATION,
            known.get(tensor.name, default),
            Scheme.ASYMMETRIC,
            tensor.name in known,
        )
        for tensor in group.tensors
    }


def _entry(
    kind: TensorKind, quant: Quant, scheme: Scheme, is_locked: bool, storage: Storage = Storage.INT8
) -> TensorEntry:
    low, high = (quant.scales[0] * (bound - quant.zero_points[0]) for bound in (DType.INT8.min, DType.INT8.max))
    is_weights = kind is TensorKind.WEIGHTS
    return TensorEntry(
        kind=kind,
        dtype=storage,
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


def _state(file: Path, read_pt: Callable[[Path], Mapping[str, object]]) -> Mapping[str, object]:
    if file.suffix.lower() in (".pt", ".pth"):
        return read_pt(file)
    if file.suffix.lower() == ".json":
        document: Mapping[str, object] = json.loads(file.read_text(encoding="utf-8"))
        return document
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _stored_quant(parts: Mapping[str, Array]) -> Quant:
    scales = parts["scale"].astype(np.float32)
    zero_points = np.broadcast_to(parts.get("zero_point", np.zeros(1)).astype(np.int64), scales.shape)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise ValueError(f"scale {scales.min():g} is not above 0")
    return Quant(tuple(map(float, scales)), tuple(map(int, zero_points)), 0 if scales.size > 1 else None)


def _is_signed(quant: Quant, least: float) -> bool:
    """Whether quint8, whose smallest value is 0, cannot be meant; `least` is the smallest real value that was seen."""
    return quant.zero_point < 0 or least < -(quant.zero_point + 1) * quant.scale


def unreadable_table(file: Path, expected: str, error: Exception) -> UsageError:
    """The error that says of a file of another tool what is wrong with it."""
    match error:
        case OSError(strerror=str() as reason):
            pass
        case UnicodeDecodeError():
            reason = "it is no text"
        case ValueError():
            reason = str(error)
        case _:  # whose words are about Python's objects
            reason = "it is in another form"
    return CTableError(Code.SCHEMA, f"{file}: cannot be read ({reason}), {expected} was expected. Check the file.")
