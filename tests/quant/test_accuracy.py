"""Accuracy with what chance explains: recorded results of scikit-learn 1.9.1 and statsmodels 0.15.0, and DeLong's
formulas written out over all pairs.
"""

import math

import numpy as np
import pytest

from tinygen.errors import UsageError
from tinygen.ir.types import Array
from tinygen.quant.accuracy import AccuracyMeasure, Estimate, Labels, Measured, Truths, accuracy, mcnemar, wilson


def drawn() -> tuple[Labels, Labels]:
    """Scores [200, 7] of whole numbers, with ties, and labels that they say something of."""
    generator = np.random.default_rng(20)
    labels = generator.integers(0, 7, 200)
    scores = generator.integers(-40, 41, (200, 7))
    scores[np.arange(200), labels] += 25
    return scores, labels


def measures(scores: Array, labels: Array, real: Array | None = None) -> dict[AccuracyMeasure, Measured]:
    return {each.measure: each for each in accuracy(scores, labels, real).measures}


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (3, 12, 0.03515625),
        (12, 3, 0.03515625),
        (0, 0, 1.0),
        (4, 4, 1.0),
        (1, 9, 0.021484375),
        (120, 150, 0.0773893989802),
    ],
)
def test_item_20_mcnemar_is_that_of_statsmodels(lost: int, won: int, p: float) -> None:
    assert mcnemar(lost, won) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.27753279986288926),
        (10, 10, 0.7224672001371106, 1.0),
        (87, 100, 0.7901964855992356, 0.9224283257275949),
        (431, 500, 0.8289979864047199, 0.8894819911011163),
    ],
)
def test_item_20_intervals_of_shares_are_those_of_statsmodels(right: int, count: int, low: float, high: float) -> None:
    found = wilson(np.arange(count) < right)
    assert found.value == right / count
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)


def test_item_20_shares_and_areas_are_those_of_scikit_learn() -> None:
    scores, labels = drawn()
    found = measures(scores, labels)
    assert found[AccuracyMeasure.TOP1].network.value == 0.37  # the first of equal scores
    assert found[AccuracyMeasure.TOP5].network.value == 0.96
    assert found[AccuracyMeasure.AUC].network.value == pytest.approx(0.733228932044286, rel=1e-12)
    coarse = measures(scores // 16 * 16, labels)
    assert coarse[AccuracyMeasure.AUC].network.value == pytest.approx(0.7271806972160988, rel=1e-12)
    likely = np.exp(scores / 10)
    softmax = measures(likely / likely.sum(axis=1, keepdims=True), labels)
    assert softmax[AccuracyMeasure.AUC].network.value == pytest.approx(0.7609179134507145, rel=1e-12)


@pytest.mark.parametrize(("divisor", "area"), [(1, 0.6796439296439297), (16, 0.6832904332904334)])
def test_item_20_two_classes_are_one_curve_by_one_score_or_by_two(divisor: int, area: float) -> None:
    scores, labels = drawn()
    score, second = (scores[:, 6] - scores[:, 0]) // divisor, (labels > 3).astype(np.uint8)
    alone = measures(score, second)
    assert set(alone) == {AccuracyMeasure.AUC}  # one score says no class
    pair = measures(np.stack([-score, score], axis=1), second)
    assert set(pair) == {AccuracyMeasure.TOP1, AccuracyMeasure.AUC}
    for found in (alone, pair):
        assert found[AccuracyMeasure.AUC].network.value == pytest.approx(area, rel=1e-12)


def covariance_of_delong(first: Labels, second: Labels, is_positive: Truths) -> float:
    """Of two areas on the same samples: S10 / m + S01 / n over all pairs, by the paper's equations."""
    rows = []
    for scores in (first, second):
        over = [[(x > y) + (x == y) / 2 for y in scores[~is_positive]] for x in scores[is_positive]]
        rows.append((np.mean(over, axis=1), np.mean(over, axis=0)))
    of_positives, of_negatives = (np.cov(rows[0][side], rows[1][side])[0, 1] for side in (0, 1))
    return float(of_positives / is_positive.sum() + of_negatives / (~is_positive).sum())


def test_item_20_intervals_and_tests_of_areas_are_delong_s() -> None:
    scores, labels = drawn()
    real, second = scores[:, 6] - scores[:, 0], labels > 3
    found = (real + np.random.default_rng(1).integers(-60, 61, 200)) // 8 * 8
    auc = measures(found, second.astype(np.int8), real)[AccuracyMeasure.AUC]
    variances = [covariance_of_delong(a, b, second) for a, b in ((real, real), (found, found), (real, found))]
    half = 1.959963984540054 * math.sqrt(variances[1])
    area = auc.network.value
    assert auc.network.low == pytest.approx(area - half)
    assert auc.network.high == pytest.approx(area + half)
    assert auc.float_network is not None
    assert auc.difference == area - auc.float_network.value
    z = auc.difference / math.sqrt(variances[0] + variances[1] - 2 * variances[2])
    assert auc.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    assert auc.by_chance is True


def test_item_20_the_interval_of_many_classes_holds_what_resampling_finds() -> None:
    """The bootstrap within classes, of 400 draws, finds the same standard error within a tenth."""
    scores, labels = drawn()
    auc = measures(scores, labels)[AccuracyMeasure.AUC].network
    assert auc.low is not None
    generator = np.random.default_rng(0)
    classes = [np.flatnonzero(labels == label) for label in range(7)]
    areas = []
    for _ in range(400):
        chosen = np.concatenate([generator.choice(inside, len(inside)) for inside in classes])
        areas.append(measures(scores[chosen], labels[chosen])[AccuracyMeasure.AUC].network.value)
    assert (auc.value - auc.low) / 1.959963984540054 == pytest.approx(np.std(areas), rel=0.1)


def test_item_20_two_networks_differ_by_the_samples_where_one_alone_is_right() -> None:
    labels = np.arange(40) % 2
    right, wrong = np.eye(2)[labels], np.eye(2)[1 - labels]
    real, found = right.copy(), right.copy()
    found[:9], real[39:] = wrong[:9], wrong[39:]  # nine turn wrong, one right
    top = measures(found, labels, real)[AccuracyMeasure.TOP1]
    assert top.float_network is not None
    assert (top.float_network.value, top.network.value) == (0.975, 0.775)
    assert top.difference == pytest.approx(-0.2)
    assert top.p_value == pytest.approx(0.021484375)
    assert top.by_chance is False
    same = measures(right, labels, right)
    assert [(each.p_value, each.by_chance) for each in same.values()] == [(1.0, True), (1.0, True)]
    assert same[AccuracyMeasure.AUC].network == Estimate(1.0, None, None)  # all in order: no interval of DeLong's


def test_item_20_few_or_damaged_samples_claim_nothing() -> None:
    scores = np.array([[0.1, np.nan, 3.0], [np.inf, 0.0, -np.inf], [np.nan] * 3])
    found = accuracy(scores, np.array([2, 0, 1]))
    assert {each.measure: each.network.value for each in found.measures} == {
        AccuracyMeasure.TOP1: pytest.approx(2 / 3),
        AccuracyMeasure.AUC: pytest.approx(2.25 / 3),
    }
    assert found.measures[-1].network.low is None  # classes of one sample
    assert [each.measure for each in accuracy(scores, np.array([2, 0, 0])).measures] == [AccuracyMeasure.TOP1]
    with pytest.raises(UsageError, match=r"^labels: 3 is among them, classes of 0\.\.2 were expected"):
        accuracy(scores, np.array([0, 3, 1]))
    with pytest.raises(UsageError, match=r"^labels: -1 is among them, classes of 0\.\.1 were expected"):
        accuracy(scores[:, 0], np.array([0, -1, 1]))
