"""How often scores name the right class, of one network or of two on the same samples, and what of it chance explains.

Shares have the score interval of Wilson (1927), areas under the ROC curve that of DeLong, DeLong and Clarke-Pearson
(1988), both of 95 %. Whether two networks differ by more than chance says for shares McNemar's test (1947) in its exact
form, for areas DeLong's for correlated curves. Nothing is drawn at random.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array
from tinygen.quant.histogram import Reals
from tinygen.quant.metric import check_classes

_NORMAL_95 = 1.959963984540054  # the normal distribution's quantile of 97.5 %
_SIGNIFICANT = 0.05
_ROUNDING = 1e-24  # a variance that is none: one pair out of order among 10^11 has more
_MANY = 5  # classes that top-5 takes
_MOST_CONFUSED = 64  # classes whose confusions are counted one by one

Truths = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int64]


class AccuracyMeasure(StrEnum):
    """What is measured: shares of 1, larger is better."""

    TOP1 = "top1"  # samples whose label has the largest score, the first of equals
    TOP5 = "top5"  # samples whose label is among the five largest
    AUC = "auc"  # area under the ROC curve; of many classes the mean of each against the rest


@dataclass(frozen=True)
class Estimate:
    """A share or area, and the interval of 95 % around it; None where the samples say nothing of that."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Measured:
    """One measure of a network, beside that of the float network where there is one."""

    measure: AccuracyMeasure
    network: Estimate
    float_network: Estimate | None
    difference: float | None  # network - float network
    p_value: float | None  # of a difference at least as large, were both equally good; None where it cannot be said
    by_chance: bool | None  # whether chance explains it: p is 0.05 or more


@dataclass(frozen=True)
class ScoredAccuracy:
    """What labelled samples say of a network."""

    samples: int
    classes: int
    commonest: float  # share that always answering the commonest class would have
    measures: tuple[Measured, ...]
    confusion: tuple[tuple[int, ...], ...] = ()  # samples by label, then by answer; none of one score or many classes


def accuracy(scores: Array, labels: Array, real: Array | None = None) -> ScoredAccuracy:
    """Of `scores` [sample, ...], and of the float network's for the same samples; a class for each sample.

    One score a sample is that of class 1, and has an area alone; of two, the second less the first is. Scores that are
    no numbers are below all others. UsageError for labels that are no classes.
    """
    found = _scores(scores)
    other = None if real is None else _scores(real)
    classes = max(found.shape[1], 2)
    check_classes(labels, classes)
    known = labels.astype(np.int64)
    measures = [*_shares(found, other, known), *_areas(found, other, known)]
    commonest = float(np.bincount(known).max()) / len(known)
    return ScoredAccuracy(len(labels), classes, commonest, tuple(measures), _confusion(found, known))


def _confusion(scores: Reals, labels: Labels) -> tuple[tuple[int, ...], ...]:
    classes = scores.shape[1]
    if not 2 <= classes <= _MOST_CONFUSED:
        return ()
    pairs = np.bincount(classes * labels + scores.argmax(axis=1), minlength=classes**2)
    return tuple(tuple(row) for row in pairs.reshape(classes, classes).tolist())


def _scores(values: Array) -> Reals:
    flat = values.reshape(len(values), -1).astype(np.float64)
    return np.where(np.isnan(flat), -np.inf, flat)


def _shares(found: Reals, real: Reals | None, labels: Labels) -> Iterator[Measured]:
    classes = found.shape[1]
    if classes < 2:
        return
    for measure, places in ((AccuracyMeasure.TOP1, 1), (AccuracyMeasure.TOP5, _MANY)):
        if places < classes:
            right = _ranks(found, labels) < places
            if real is None:
                yield Measured(measure, wilson(right), None, None, None, None)
            else:
                before = _ranks(real, labels) < places
                difference = float(right.mean() - before.mean())
                p = mcnemar(int((before & ~right).sum()), int((right & ~before).sum()))
                yield Measured(measure, wilson(right), wilson(before), difference, p, p >= _SIGNIFICANT)


def _ranks(scores: Reals, labels: Labels) -> Labels:
    """How many classes stand before each label's, the first of equal ones first."""
    own = np.take_along_axis(scores, labels[:, np.newaxis], axis=1)
    is_earlier = np.arange(scores.shape[1]) < labels[:, np.newaxis]
    ranks: Labels = ((scores > own) | ((scores == own) & is_earlier)).sum(axis=1)
    return ranks


def wilson(right: Truths) -> Estimate:
    """The share of what is true, with Wilson's interval."""
    count, share, square = len(right), float(right.mean()), _NORMAL_95**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _NORMAL_95 / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def mcnemar(lost: int, won: int) -> float:
    """The probability that `lost` + `won` fair coins fall at least as unevenly: McNemar's exact test, two-sided."""
    count, fewer = lost + won, min(lost, won)
    whole = math.lgamma(count + 1) - count * math.log(2)
    tail = sum(math.exp(whole - math.lgamma(k + 1) - math.lgamma(count - k + 1)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)


def _areas(found: Reals, real: Reals | None, labels: Labels) -> Iterator[Measured]:
    area = _area(found, labels)
    before = None if real is None else _area(real, labels)
    if area is None:
        return
    if before is None:
        yield Measured(AccuracyMeasure.AUC, area.estimate, None, None, None, None)
        return
    difference = area.value - before.value
    variance = _variance(area.parts - before.parts, labels)
    p = 1.0 if difference == 0 else None
    if variance and difference:
        p = math.erfc(abs(difference) / math.sqrt(2 * variance))
    by_chance = None if p is None else p >= _SIGNIFICANT
    yield Measured(AccuracyMeasure.AUC, area.estimate, before.estimate, difference, p, by_chance)


@dataclass(frozen=True)
class _Area:
    """An area, and what each sample adds to it."""

    value: float
    parts: Reals  # [sample], whose variance within classes is that of the area
    variance: float | None

    @property
    def estimate(self) -> Estimate:
        if not self.variance:  # all in order, or classes of one sample: no normal distribution around it
            return Estimate(self.value, None, None)
        half = _NORMAL_95 * math.sqrt(self.variance)
        return Estimate(self.value, max(0.0, self.value - half), min(1.0, self.value + half))


def _area(scores: Reals, labels: Labels) -> _Area | None:
    """The mean area of the classes; None where one has no sample."""
    columns = dict(enumerate(scores.T)) if scores.shape[1] > 2 else {1: _second(scores)}
    value, parts = 0.0, np.zeros(len(labels))
    for label, column in columns.items():
        is_positive = labels == label
        if is_positive.all() or not is_positive.any():
            return None
        order = placements(column, is_positive)
        value += float(order[is_positive].mean()) / len(columns)
        parts += order / np.where(is_positive, is_positive.sum(), (~is_positive).sum()) / len(columns)
    return _Area(value, parts, _variance(parts, labels))


def _second(scores: Reals) -> Reals:
    """One score, or the second less the first: infinite ones of equal sign are alike."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    with np.errstate(invalid="ignore"):
        return np.where(scores[:, 0] == scores[:, 1], 0.0, scores[:, 1] - scores[:, 0])


def placements(scores: Reals, is_positive: Truths) -> Reals:
    """For each positive the share of negatives below it, for each negative that of positives above it, ties by half.

    The mean over the positives is the area under the ROC curve (Mann and Whitney, 1947); these are the structural
    components of DeLong, DeLong and Clarke-Pearson. There is at least one of each.
    """
    found = np.empty(len(scores))
    for side, sign in ((is_positive, 1), (~is_positive, -1)):
        others = np.sort(sign * scores[~side])
        ahead = sign * scores[side]
        pairs = np.searchsorted(others, ahead, "left") + np.searchsorted(others, ahead, "right")
        found[side] = pairs / (2 * len(others))
    return found


def _variance(parts: Reals, labels: Labels) -> float | None:
    """DeLong's: classes are samples of their own, of at least two each."""
    total = 0.0
    for label in np.unique(labels):
        inside = parts[labels == label]
        if len(inside) < 2:
            return None
        total += len(inside) * float(np.var(inside, ddof=1))
    return total if total > _ROUNDING else 0.0
