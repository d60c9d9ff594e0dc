"""A calibration measured: its settings on samples that the ranges were not made of, and others where it is bad.

The ranges of the table come from all samples. What is measured here has those of all but the last ones.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinygen.calib.calibrator import ROUNDING_SAMPLES, Calibration, Calibrator
from tinygen.calib.engines import seen_values
from tinygen.calib.trials import trials_of_last
from tinygen.calib.tuning import POLICIES
from tinygen.quant.accuracy import ScoredAccuracy
from tinygen.quant.calibrate import NO_MOMENTS, NO_SAMPLES, Identity, Settings, make_ctable
from tinygen.quant.ctable import CTable, Storage
from tinygen.quant.dataset import DEFAULT_SAMPLES, Dataset, open_dataset
from tinygen.quant.held_out import BetterSettings, HeldOut, Nearness
from tinygen.quant.histogram import Reals
from tinygen.quant.metric import Metric, measure
from tinygen.quant.widths import ALL_INT8, Widths

_AUDIBLE_DB = 20.0  # noise of a tenth of the scores: a better policy costs nothing
_LOUD_DB = 10.0  # noise with a tenth of their power: wider types are worth their bytes
_GAIN_DB = 3.0  # half of the noise
_FEW = 16  # samples that other settings are compared on
_DEVIATIONS = 2.0  # standard deviations that are no chance any more

_NARROW = (Storage.INT4, Storage.INT8)  # weights that are tried in place of narrower ones


def measure_held_out(calibrator: Calibrator, settings: Settings, data: Dataset) -> HeldOut | None:
    """What settings keep on the last samples of a file; None where it has one sample alone.

    Other policies are tried where noise can be heard, wider types where much is lost and no policy helps.
    """
    held = data.held_out()
    if held == 0:
        return None
    bench = _Bench(calibrator, data, held)
    scores = bench.scores(settings)
    found, loses = bench.nearness(scores), bench.loses(scores)
    better = _better_policy(settings, bench) if loses or found.sqnr_db < _AUDIBLE_DB else None
    if loses and better is None:
        better = _wider_types(settings, bench)
    return HeldOut(
        samples=held,
        found=found,
        float_right=bench.right(bench.trials.real),
        chance_right=None if bench.labels is None else round(held * bench.chance),
        loses=loses,
        is_at_chance=loses and bench.is_at_chance(scores, found),
        accuracy=bench.accuracy(settings),
        better=better,
    )


def held_out_accuracy(calibration: Calibration, data: Path) -> ScoredAccuracy | None:
    """What `measure_held_out` says of the accuracy of a calibration that was made of a file; None without labels."""
    if calibration.settings is None:
        return None
    samples = open_dataset(data, calibration.model.graph.inputs, DEFAULT_SAMPLES)
    held = samples.held_out()
    if held == 0 or not samples.has_labels:
        return None
    calibrator = Calibrator(calibration.model, None, calibration.settings)
    return _Bench(calibrator, samples, held).accuracy(calibration.settings)


class _Bench:
    """Settings on the last samples of a file, by statistics of the others."""

    def __init__(self, calibrator: Calibrator, data: Dataset, held: int) -> None:
        self._calibrator, self._data, self._seen = calibrator, data, data.samples - held
        self._trials = {most: trials_of_last(calibrator, data, held, most) for most in (_FEW, held)}
        self.trials = self._trials[held]
        self.labels = self.trials.labels
        self.chance = _chance(data, self.trials.real[0].size)

    def ratio_on_few(self, settings: Settings) -> float:
        """Signal to noise, in dB, of a few samples, by weights that are rounded to nearest: to compare settings by."""
        trials = self._trials[_FEW]
        return trials.sqnr(trials.scores(self._table(replace(settings, rounds_adaptively=False))))

    def scores(self, settings: Settings) -> Reals:
        """What the network of these settings computes."""
        return self.trials.scores(self._table(settings))

    def accuracy(self, settings: Settings) -> ScoredAccuracy | None:
        """Of the outputs, beside those of the float network."""
        return self.trials.accuracy(self._table(settings))

    def nearness(self, scores: Reals) -> Nearness:
        """What they keep of the float network's."""
        real = self.trials.real
        return Nearness(
            sqnr_db=self.trials.sqnr(scores),
            cosine=measure(Metric.COSINE, scores, real, None),
            explained=_explained(scores, real),
            right=self.right(scores),
        )

    def right(self, scores: Reals) -> int | None:
        """Samples whose largest score is their label's."""
        return None if self.labels is None else int(self._are_right(scores).sum())

    def loses(self, scores: Reals) -> bool:
        """Whether noise is loud, or clearly more samples turn wrong than right (McNemar's test)."""
        return self.trials.sqnr(scores) < _LOUD_DB or (self.labels is not None and self._turns_wrong(scores))

    def is_at_chance(self, scores: Reals, found: Nearness) -> bool:
        """Whether the scores say no more than a guess, where those of the float network do."""
        if self.labels is None or found.right is None:
            return found.explained <= 0
        count = len(self.labels)
        limit = count * self.chance + _DEVIATIONS * math.sqrt(count * self.chance * (1 - self.chance))
        return found.right <= limit and self._turns_wrong(scores)

    def _turns_wrong(self, scores: Reals) -> bool:
        before, after = self._are_right(self.trials.real), self._are_right(scores)
        lost, won = int((before & ~after).sum()), int((after & ~before).sum())
        return lost - won > _DEVIATIONS * math.sqrt(lost + won)

    def _are_right(self, scores: Reals) -> npt.NDArray[np.bool_]:
        assert self.labels is not None
        found: npt.NDArray[np.bool_] = scores.reshape(len(scores), -1).argmax(axis=1) == self.labels
        return found

    def _table(self, settings: Settings) -> CTable:
        calibrator, data = self._calibrator, self._data
        rounded = data.batches(ROUNDING_SAMPLES, 0, min(self._seen, ROUNDING_SAMPLES))
        moments = calibrator.moments(rounded) if settings.rounds_adaptively else NO_MOMENTS
        has_crossbars = any(engine.crossbar for engine in settings.engines.board)
        seen = seen_values(calibrator, data, self._seen) if has_crossbars else NO_SAMPLES
        statistics, identity = calibrator.statistics_without_last(data), Identity(calibrator.model.identity)
        return make_ctable(calibrator.graph, statistics, settings, identity, moments, seen)


def _better_policy(settings: Settings, bench: _Bench) -> BetterSettings | None:
    """The policy of least noise, where that is at most half."""
    policies = dict(_policies(settings))
    ratios = {options: bench.ratio_on_few(other) for options, other in policies.items()}
    best = max(ratios, key=ratios.__getitem__)
    if ratios[best] < bench.ratio_on_few(settings) + _GAIN_DB:
        return None
    return BetterSettings(best, bench.nearness(bench.scores(policies[best])))


def _wider_types(settings: Settings, bench: _Bench) -> BetterSettings | None:
    """The narrowest wider types that lose little; None where none do."""
    for options, other in _wider(settings):
        scores = bench.scores(other)
        if not bench.loses(scores):
            return BetterSettings(options, bench.nearness(scores))
    return None


def _policies(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """The other policies, each for all tensors."""
    for policy in POLICIES:
        if policy != settings.policy or settings.of_tensors:
            yield f"--policy {policy}", replace(settings, policy=policy, of_tensors={})


def _wider(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """The same with wider types for all operators, the narrowest first; nothing where engines decide on types."""
    widths = settings.widths
    narrowest = min(type.bits for type in (widths.default, *(other.weights for other in widths.overrides)))
    activations = widths.activations if widths.activations.bits > Storage.INT8.bits else Storage.INT8
    for weights in () if settings.engines.board else _NARROW:
        wider = Widths(weights, activations=activations)
        if weights.bits >= narrowest and wider != widths:
            options = [f"--weights {weights}"]
            if activations is not ALL_INT8.activations:
                options.append(f"--activations {activations}")
            yield " ".join(options), replace(settings, widths=wider)


def _explained(scores: Reals, real: Reals) -> float:
    """Share of the variance of real scores around their mean."""
    variance = float(((real - real.mean(axis=0)) ** 2).sum())
    return math.nan if variance == 0 else 1 - float(((scores - real) ** 2).sum()) / variance


def _chance(data: Dataset, classes: int) -> float:
    """Share of the commonest class among all labels; at least one of all classes."""
    labels = data.labels()
    commonest = 0.0 if labels is None else float(np.unique(labels, return_counts=True)[1].max()) / len(labels)
    return max(commonest, 1 / classes)
