"""Calibration with a search: policies and widths are tried on samples that the statistics have not seen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from glob import escape

from tinygen.calib.calibrator import BATCH, ROUNDING_SAMPLES, Calibration, Calibrator
from tinygen.calib.mixed import NARROW, Candidate, candidates_of, constant_bytes
from tinygen.calib.trials import Trials, bare, check_has_labels, trials_of_last
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.quant.calibrate import Identity, Progress, Settings, make_ctable
from tinygen.quant.constraints import Group, groups
from tinygen.quant.ctable import CalibrationRecord, CTable, Storage
from tinygen.quant.ctable_file import file_sha256
from tinygen.quant.dataset import Dataset
from tinygen.quant.metric import Metric, measure
from tinygen.quant.policy import Policy
from tinygen.quant.quantize import quantize_graph
from tinygen.quant.search import Assignment, Measurement, Search, Space, Trial, search
from tinygen.quant.widths import Override

POLICIES = tuple(map(Policy.parse, ("max", "mse", "l2", "l1", "percentile:99.99", "percentile:99.9", "kld")))

_WIDTHS = (Storage.INT8.value, NARROW.value)


@dataclass(frozen=True)
class Tuning:
    """What to search, and what for."""

    kind: Search
    metric: Metric = Metric.SQNR
    budget: int = 64  # combinations to measure
    flash_bytes: int | None = None  # that constants may take: with it, widths of weights are searched, too


@dataclass(frozen=True)
class Tuned:
    """The calibration of the best combination, and how it was found."""

    calibration: Calibration
    groups: tuple[str, ...]  # names, in the order of the trials' policies
    layers: tuple[str, ...]  # names, in the order of the trials' weights
    best: Trial
    trials: tuple[Trial, ...]


def tune(calibrator: Calibrator, data: Dataset, tuning: Tuning, progress: Progress | None = None) -> Tuned:
    """Statistics of all samples but the last, combinations chosen by the simulator on those.

    UsageError where there is but one sample, or no labels for --metric accuracy; DoesNotFitError where not even the
    narrowest weights fit the flash.
    """
    held = data.held_out()
    if held < 1:
        raise UsageError(f"--search: {data.file.name} has 1 sample, 2 or more were expected. Give more data.")
    check_has_labels(data, tuning.metric)
    return _Tuner(calibrator, data, tuning, trials_of_last(calibrator, data, held, held)).run(progress)


class _Tuner:
    """Settings of combinations: first a policy for each group of tensors, then a type for the weights of each layer."""

    def __init__(self, calibrator: Calibrator, data: Dataset, tuning: Tuning, trials: Trials) -> None:
        self._calibrator, self._data, self._tuning, self._trials = calibrator, data, tuning, trials
        self._statistics = calibrator.statistics_without_last(data)
        seen = data.samples - data.held_out()
        self._moments = calibrator.moments(data.batches(BATCH, 0, min(seen, ROUNDING_SAMPLES)))
        self._groups: tuple[Group, ...] = tuple(g for g in groups(calibrator.graph) if g.fixed is None)
        self._layers: tuple[Candidate, ...] = ()
        if tuning.flash_bytes is not None:
            wide, narrow = (self._table(calibrator.settings, weights) for weights in _WIDTHS)
            self._layers = candidates_of(calibrator.graph, wide, narrow)
            self._wide_bytes = constant_bytes(quantize_graph(calibrator.graph, bare(wide)))

    def run(self, progress: Progress | None) -> Tuned:
        """Search, and make the table of the best combination with the ranges of all samples but the last."""
        tuning = self._tuning
        found = search(tuning.kind, self._space, self._score, tuning.budget, progress)
        settings = self._settings(found.best)
        record = CalibrationRecord(
            samples=self._data.samples,
            dataset_sha256=file_sha256(self._data.file),
            policy=str(settings),
            search=tuning.kind.value,
            metric=tuning.metric.value,
        )
        table = self._table(settings).model_copy(update={"calibration": record, "target": self._calibrator.target})
        calibration = Calibration(self._calibrator.model, table, settings)
        names = tuple(group.name for group in self._groups)
        trials = {each.assignment: self._trial(each) for each in found.measured}
        layers = tuple(layer.ops[0] for layer in self._layers)
        return Tuned(calibration, names, layers, trials[found.best], tuple(trials.values()))

    @cached_property
    def _space(self) -> Space:
        policies = tuple(map(str, POLICIES))
        choices = (policies,) * len(self._groups) + (_WIDTHS,) * len(self._layers)
        widths = self._first_widths()
        starts = tuple((policy,) * len(self._groups) + widths for policy in policies)
        return Space(choices, starts, self._fits)

    def _first_widths(self) -> Assignment:
        """Narrow weights, but where the smallest layers fit with wide ones."""
        widths = dict.fromkeys(self._layers, NARROW.value)
        self._check_size(sum(layer.saved_bytes for layer in self._layers))
        for layer in sorted(self._layers, key=lambda layer: layer.saved_bytes):
            wider = widths | {layer: Storage.INT8.value}
            if self._fits_in(tuple(wider.values())):
                widths = wider
        return tuple(widths.values())

    def _fits(self, assignment: Assignment) -> bool:
        return self._fits_in(assignment[len(self._groups) :])

    def _fits_in(self, widths: Assignment) -> bool:
        if self._tuning.flash_bytes is None:
            return True
        saved = sum(
            layer.saved_bytes for layer, width in zip(self._layers, widths, strict=True) if width == NARROW.value
        )
        return self._wide_bytes - saved <= self._tuning.flash_bytes

    def _check_size(self, saved: int) -> None:
        flash = self._tuning.flash_bytes
        if flash is not None and self._wide_bytes - saved > flash:
            raise DoesNotFitError(
                f"--flash: constants of {self._calibrator.model.path.name} take {self._wide_bytes - saved:,} bytes "
                f"with {NARROW.value} weights wherever there are kernels for them, at most {flash:,} were expected. "
                "Allow more flash."
            )

    def _score(self, assignment: Assignment) -> float:
        scores = self._trials.scores(self._table(self._settings(assignment)))
        return measure(self._tuning.metric, scores, self._trials.real, self._trials.labels)

    def _settings(self, assignment: Assignment) -> Settings:
        own, count = self._calibrator.settings, len(self._groups)
        policies: Mapping[str, Policy] = {
            group.name: Policy.parse(text) for group, text in zip(self._groups, assignment, strict=False)
        }
        overrides = tuple(
            Override(escape(name), Storage(width), own.widths.activations)
            for layer, width in zip(self._layers, assignment[count:], strict=True)
            for name in layer.ops
        )
        widths = replace(own.widths, overrides=(*own.widths.overrides, *overrides))
        return replace(own, of_tensors=policies, widths=widths)

    def _table(self, settings: Settings, weights: str | None = None) -> CTable:
        if weights is not None:
            settings = replace(settings, widths=replace(settings.widths, default=Storage(weights)))
        identity = Identity(self._calibrator.model.identity)
        return make_ctable(self._calibrator.graph, self._statistics, settings, identity, self._moments)

    def _trial(self, found: Measurement) -> Trial:
        count = len(self._groups)
        return Trial(found.assignment[:count], found.assignment[count:], found.score)
