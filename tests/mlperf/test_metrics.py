"""Accuracy and AUC against scikit-learn, and against counting pairs."""

import numpy as np
import pytest

from tinygen.mlperf import metrics


def _scores(seed: int, samples: int, classes: int) -> tuple[metrics.Floats, metrics.Labels]:
    """Coarse values, so that there are ties; every class occurs."""
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(max(classes, 2)), random.integers(0, max(classes, 2), samples)])
    return np.round(random.random((len(labels), classes)) + 0.01, 2), labels


@pytest.mark.parametrize("seed", range(4))
def test_binary_auc_counts_pairs(seed: int) -> None:
    scores, labels = _scores(seed, 60, 1)
    pairs = [(p > n) + (p == n) / 2 for p in scores[labels == 1, 0] for n in scores[labels == 0, 0]]
    assert metrics.auc(scores, labels) == pytest.approx(float(np.mean(pairs)), abs=1e-12)


@pytest.mark.parametrize("classes", [1, 2, 3, 12])
def test_auc_is_that_of_scikit_learn(classes: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn missing: AUC is compared with pairs only")
    scores, labels = _scores(classes, 200, classes)
    shares = scores / scores.sum(axis=1, keepdims=True)
    if classes > 2:
        expected = sklearn.roc_auc_score(labels, shares, multi_class="ovr")
    else:
        expected = sklearn.roc_auc_score(labels, scores[:, 0] if classes == 1 else shares[:, 1])
    assert metrics.auc(scores, labels) == pytest.approx(expected, abs=1e-12)


def test_a_missing_class_has_no_auc() -> None:
    scores, labels = _scores(0, 20, 3)
    assert metrics.auc(scores, np.minimum(labels, 1)) is None


def test_correct_takes_the_first_of_equals() -> None:
    scores = np.array([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])
    assert metrics.correct(scores, np.array([0, 1, 1])) == 2


def test_median() -> None:
    assert metrics.median([3.0, 1.0, 2.0, 9.0, 2.5]) == 2.5
