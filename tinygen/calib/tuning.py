"""Calibration with a search: policies are tried on samples that the statistics have not seen."""

from dataclasses import dataclass, replace

import numpy as np

from tinygen.calib.calibrator import BATCH, ROUNDING_SAMPLES, Calibration, Calibrator
from tinygen.errors import UsageError
from tinygen.ir.samples import LABELS
from tinygen.ops.quantize import dequantize
from tinygen.quant.calibrate import Identity, Progress, Settings, collect, make_ctable
from tinygen.quant.constraints import Group, groups
from tinygen.quant.ctable import CalibrationRecord, CTable
from tinygen.quant.ctable_file import file_sha256
from tinygen.quant.dataset import Dataset
from tinygen.quant.forward import NumpyForward, forward_of
from tinygen.quant.metric import Metric, measure, scores_tensor
from tinygen.quant.policy import Policy
from tinygen.quant.quantize import quantize_graph
from tinygen.quant.search import Assignment, Found, Search, search

POLICIES = tuple(map(Policy.parse, ("max", "mse", "l2", "l1", "percentile:99.99", "percentile:99.9", "kld")))

_MOST_HELD_OUT = 32  # as each trial computes them


@dataclass(frozen=True)
class Tuning:
    """What to search, and what for."""

    kind: Search
    metric: Metric = Metric.SQNR
    budget: int = 64  # combinations to measure


@dataclass(frozen=True)
class Tuned:
    """The calibration of the best combination, and how it was found."""

    calibration: Calibration
    groups: tuple[str, ...]  # names, in the order of the trials' policies
    found: Found


def tune(calibrator: Calibrator, data: Dataset, tuning: Tuning, progress: Progress | None = None) -> Tuned:
    """Statistics of the first nine tenths of the samples, policies chosen by the simulator on the others."""
    held = data.held_out(_MOST_HELD_OUT)
    seen = data.samples - held
    if held < 1:
        raise UsageError(f"--search: {data.file.name} has 1 sample, 2 or more were expected. Give more data.")
    labels = data.labels()
    if tuning.metric is Metric.ACCURACY and labels is None:
        raise UsageError(
            f"--metric accuracy: {data.file.name} has no array named {' or '.join(LABELS)} with the samples' classes, "
            "one was expected. Add it, or choose sqnr."
        )
    graph = calibrator.graph
    statistics = collect(calibrator.forward, data.batches(BATCH, 0, seen), seen)
    moments = calibrator.moments(data.batches(BATCH, 0, min(seen, ROUNDING_SAMPLES)))
    (inputs,) = data.batches(held, seen)
    wanted = scores_tensor(graph)
    real = forward_of(graph, [wanted.name]).run(inputs)[wanted.name]
    free = tuple(group for group in groups(graph) if group.fixed is None)

    def table(assignment: Assignment) -> CTable:
        settings = _assigned(calibrator.settings, free, assignment)
        return make_ctable(graph, statistics, settings, Identity(calibrator.model.identity), moments)

    def objective(assignment: Assignment) -> float:
        quantized = quantize_graph(graph, table(assignment))
        tensor = next(t for t in quantized.tensors if t.name == wanted.name)
        stored = NumpyForward(quantized, [tensor.name]).run(inputs)[tensor.name]
        chosen = None if labels is None else labels[seen:]
        return measure(tuning.metric, dequantize(stored, tensor.type), np.asarray(real), chosen)

    found = search(tuning.kind, len(free), POLICIES, objective, tuning.budget, progress)
    settings = _assigned(calibrator.settings, free, found.best)
    record = CalibrationRecord(
        samples=data.samples,
        dataset_sha256=file_sha256(data.file),
        policy=str(settings),
        search=tuning.kind.value,
        metric=tuning.metric.value,
    )
    best = table(found.best).model_copy(update={"calibration": record, "target": calibrator.target})
    return Tuned(Calibration(calibrator.model, best, settings), tuple(group.name for group in free), found)


def _assigned(settings: Settings, free: tuple[Group, ...], assignment: Assignment) -> Settings:
    return replace(settings, of_tensors={g.name: policy for g, policy in zip(free, assignment, strict=True)})
