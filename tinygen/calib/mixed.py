"""Mixed widths: weights go from int8 to int4 layer by layer, those first that cost the least accuracy per byte."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape

from tinygen.calib.calibrator import BATCH, ROUNDING_SAMPLES, Calibration, Calibrator
from tinygen.calib.engines import Assigning
from tinygen.calib.trials import bare, trials_of
from tinygen.errors import DoesNotFitError
from tinygen.ir.graph import Graph
from tinygen.quant.calibrate import Identity, Progress, Settings, make_ctable, with_controls
from tinygen.quant.ctable import CalibrationRecord, CTable, OpEntry, Storage
from tinygen.quant.ctable_file import file_sha256
from tinygen.quant.dataset import Dataset
from tinygen.quant.metric import Metric
from tinygen.quant.mixture import MixedLayer, Mixture
from tinygen.quant.quantize import quantize_graph
from tinygen.quant.widths import Override

NARROW = Storage.INT4

_REQUANTIZATION_BYTES = 8  # multiplier and shift of an output channel


@dataclass(frozen=True)
class Mixing:
    """How far to go."""

    max_drop: float = Assigning.max_drop  # dB of SQNR are below int8
    flash_bytes: int | None = None  # that constants may take; as few as the drop allows where None
    metric: Metric | None = None  # accuracy where there are labels, cosine elsewhere


@dataclass(frozen=True)
class Mixed:
    """The calibration, and how its widths were chosen."""

    calibration: Calibration
    mixture: Mixture


@dataclass(frozen=True)
class Candidate:
    """Weights that may be narrow, with the operators that read them."""

    weights: str
    ops: tuple[str, ...]
    saved_bytes: int


def mix(calibrator: Calibrator, data: Dataset, mixing: Mixing, progress: Progress | None = None) -> Mixed:
    """Statistics of all samples; every trial is measured by the simulator on the first of them."""
    trials = trials_of(calibrator, data, mixing.metric)
    wide, narrow = _tables(calibrator, data, trials.metric)
    candidates = candidates_of(calibrator.graph, wide, narrow)
    steps = _counted(progress, 2 * len(candidates) + 1)
    start = trials.scores(wide)
    next(steps)
    noises: dict[Candidate, float] = {}
    ratios: dict[Candidate, float] = {}
    for candidate in candidates:
        ratios[candidate] = trials.sqnr(trials.scores(combined(wide, narrow, [candidate])))
        noises[candidate] = max(10 ** (-ratios[candidate] / 10) - 10 ** (-trials.sqnr(start) / 10), 0.0)
        next(steps)
    order = sorted(candidates, key=lambda candidate: noises[candidate] / max(candidate.saved_bytes, 1))
    chosen: list[Candidate] = []
    drops: dict[Candidate, float] = {}
    size, drop = constant_bytes(quantize_graph(calibrator.graph, bare(wide))), trials.drop(start, start)
    for candidate in order:
        if mixing.flash_bytes is not None and size <= mixing.flash_bytes:
            break
        drops[candidate] = trials.drop(trials.scores(combined(wide, narrow, [*chosen, candidate])), start)
        next(steps)
        if drops[candidate] <= mixing.max_drop:
            chosen.append(candidate)
            size, drop = size - candidate.saved_bytes, drops[candidate]
    _check_size(calibrator, size, mixing)
    sensitivity = {c: {"int8": trials.sqnr(start), NARROW.value: ratios[c]} for c in order}
    table = _recorded(combined(wide, narrow, chosen), sensitivity)
    layers = tuple(
        MixedLayer(
            name=candidate.ops[0],
            weights=NARROW if candidate in chosen else Storage.INT8,
            sensitivity=sensitivity[candidate],
            saved_bytes=candidate.saved_bytes if candidate in chosen else 0,
            drop=drops.get(candidate),
        )
        for candidate in order
    )
    settings = _settings(calibrator, chosen)
    calibration = Calibration(calibrator.model, with_controls(calibrator.graph, table), settings)
    return Mixed(calibration, Mixture(layers, trials.metric, drop, size))


def constant_bytes(graph: Graph) -> int:
    """Bytes of weights, biases and requantization of a quantized network, as they stand in flash."""
    constants = sum(tensor.type.bytes for tensor in graph.tensors if tensor.is_constant)
    channels = sum(op.results[0].shape[-1] for op in graph.ops if op.filters is not None)
    return constants + _REQUANTIZATION_BYTES * channels


def _tables(calibrator: Calibrator, data: Dataset, metric: Metric) -> tuple[CTable, CTable]:
    """The table as asked for, and the one with narrow weights wherever there are kernels and no --op says otherwise."""
    statistics = calibrator.statistics(data)
    moments = calibrator.moments(data.batches(BATCH, 0, min(data.samples, ROUNDING_SAMPLES)))
    settings = calibrator.settings
    record = CalibrationRecord(
        samples=data.samples,
        dataset_sha256=file_sha256(data.file),
        policy=str(settings),
        search="mixed",
        metric=metric.value,
    )
    identity = Identity(calibrator.model.identity, calibrator.target, record)
    all_narrow = replace(settings, widths=replace(settings.widths, default=NARROW))
    wide, narrow = (make_ctable(calibrator.graph, statistics, s, identity, moments) for s in (settings, all_narrow))
    return wide, narrow


def candidates_of(graph: Graph, wide: CTable, narrow: CTable) -> tuple[Candidate, ...]:
    """Weights that differ between both tables, with the operators that read them."""
    readers: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for op in graph.ops:
        if op.filters is not None and (weights := op.filters.weights).is_constant:
            readers.setdefault(weights.name, []).append(op.name)
            sizes[weights.name] = weights.type.elements
    return tuple(
        Candidate(name, tuple(ops), sizes[name] - -(-sizes[name] * NARROW.bits // 8))
        for name, ops in readers.items()
        if wide.tensors[name].dtype is not narrow.tensors[name].dtype
    )


def combined(wide: CTable, narrow: CTable, chosen: Sequence[Candidate]) -> CTable:
    """The first table with what the second says of chosen weights."""
    tensors = {candidate.weights: narrow.tensors[candidate.weights] for candidate in chosen}
    ops = {name: narrow.ops[name] for candidate in chosen for name in candidate.ops}
    return wide.model_copy(update={"tensors": wide.tensors | tensors, "ops": wide.ops | ops})


def _settings(calibrator: Calibrator, chosen: Sequence[Candidate]) -> Settings:
    """The settings that ask for narrow weights just there."""
    names, widths = {name for candidate in chosen for name in candidate.ops}, calibrator.settings.widths
    narrow = tuple(
        Override(escape(op.name), NARROW, widths.activations_of(op)) for op in calibrator.graph.ops if op.name in names
    )
    return replace(calibrator.settings, widths=replace(widths, overrides=(*widths.overrides, *narrow)))


def _recorded(table: CTable, sensitivity: Mapping[Candidate, dict[str, float]]) -> CTable:
    """The table with the sensitivity of each layer."""
    found: dict[str, OpEntry] = {
        name: table.ops[name].model_copy(update={"sensitivity": values})
        for candidate, values in sensitivity.items()
        for name in candidate.ops
    }
    return table.model_copy(update={"ops": table.ops | found})


def _check_size(calibrator: Calibrator, size: int, mixing: Mixing) -> None:
    if mixing.flash_bytes is not None and size > mixing.flash_bytes:
        raise DoesNotFitError(
            f"--flash: constants of {calibrator.model.path.name} take {size:,} bytes where a drop of at most "
            f"{mixing.max_drop:g} is allowed, at most {mixing.flash_bytes:,} were expected. "
            "Allow a larger drop with --max-drop, or more flash."
        )


def _counted(progress: Progress | None, steps: int) -> Iterator[None]:
    for step in range(1, steps + 1):
        if progress is not None:
            progress(step, steps)
        yield
