"""k-means of palettes: near the optimum, the same each time, weighted, and exact where few numbers differ."""

import numpy as np
import pytest

from tinygen.compress.clusters import clusters, nearest


def _error(values: np.ndarray, weights: np.ndarray, levels: np.ndarray) -> float:
    return float((weights * (values - levels[nearest(values, levels)].astype(np.float64)) ** 2).sum())


def _least_error(values: np.ndarray, weights: np.ndarray, count: int) -> float:
    """Of any partition into intervals, by dynamic programming over all of them."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]

    def alone(first: int, end: int) -> float:
        part, weight = values[first:end], weights[first:end]
        return float((weight * (part - np.average(part, weights=weight)) ** 2).sum())

    best = [0.0] + [np.inf] * len(values)
    for _ in range(count):
        best = [0.0] + [min(best[i] + alone(i, end) for i in range(end)) for end in range(1, len(values) + 1)]
    return best[-1]


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_errors_are_near_the_least(count: int, is_weighted: bool) -> None:
    rng = np.random.default_rng(count)
    for _ in range(3):
        values = rng.laplace(size=40)
        weights = rng.uniform(0.1, 10, 40) if is_weighted else np.ones(40)
        levels = clusters(values, count, 0, weights if is_weighted else None)
        assert levels.size <= count and np.all(np.diff(levels) > 0)
        assert _error(values, weights, levels) <= 1.05 * _least_error(values, weights, count)


def test_gaussian_numbers_have_the_known_levels() -> None:
    """The quantizer of least error for 4 levels of a normal distribution (Max, 1960): 0.4528 and 1.510."""
    levels = clusters(np.random.default_rng(0).normal(size=200_000), 4, 0)
    np.testing.assert_allclose(levels, [-1.510, -0.4528, 0.4528, 1.510], atol=0.02)


def test_few_numbers_stay_what_they_are() -> None:
    values = np.array([3.0, -1.5, 3.0, 0.25, -1.5], np.float32)
    levels = clusters(values, 4, 0)
    np.testing.assert_array_equal(levels, np.array([-1.5, 0.25, 3.0], np.float32))
    np.testing.assert_array_equal(levels[nearest(values, levels)], values)


def test_the_same_seed_gives_the_same() -> None:
    values = np.random.default_rng(1).normal(size=5000)
    np.testing.assert_array_equal(clusters(values, 16, 7), clusters(values.copy(), 16, 7))


def test_values_of_equal_weight_are_taken_by_their_importance() -> None:
    values = np.array([0.0, 1.0, 10.0, 11.0])
    assert clusters(values, 1, 0)[0] == 5.5
    assert clusters(values, 1, 0, np.array([1.0, 1.0, 0.0, 0.0]))[0] == pytest.approx(0.5)
