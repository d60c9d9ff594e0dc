"""Streaming histograms and statistics against numpy on all values at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygen.quant.histogram import BINS, Floats, Histogram
from tinygen.quant.statistics import Statistics, merged


def _values(seed: int, count: int, spread: float) -> Floats:
    generator = np.random.default_rng(seed)
    return (generator.laplace(0, spread, count) + generator.integers(-1, 2)).astype(np.float32)


def _direct(values: Floats, width: float) -> list[int]:
    """Counts of magnitudes, bin by bin, from the definition."""
    magnitudes = np.sort(np.abs(values.astype(np.float64)))
    edges = np.arange(BINS + 1) * width
    return list(np.diff(np.searchsorted(magnitudes, edges, side="left")))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 0.3, 5.0, 1e4]), st.lists(st.integers(0, 400), max_size=5))
def test_counts_are_those_of_all_values_at_once(seed: int, spread: float, cuts: list[int]) -> None:
    values = _values(seed, 400, spread)
    histogram = Histogram()
    for part in np.split(values, sorted(cuts)):
        histogram.add(part)
    assert list(histogram.magnitudes) == _direct(values, histogram.width)
    assert list(histogram.signed[BINS:]) == _direct(values[values >= 0], histogram.width)
    assert histogram.signed.sum() == 400
    range_end = BINS * histogram.width
    assert range_end / 2 <= np.abs(values).max() < range_end


def test_values_at_powers_of_two_lie_in_the_bin_above() -> None:
    histogram = Histogram()
    for value in (0.0, 1.0, -1.0, 2.0, 0.5):
        histogram.add(np.array([value], np.float32))
    assert histogram.width == 4 / BINS
    assert dict(enumerate(histogram.magnitudes)) == dict.fromkeys(range(BINS), 0) | {0: 1, 256: 1, 512: 2, 1024: 1}
    assert histogram.signed[BINS - 1 - 512] == 1


def test_zero_is_no_negative_value() -> None:
    histogram = Histogram()
    histogram.add(np.array([0.0, -0.0, -1.0], np.float32))
    assert (histogram.signed[BINS], histogram.signed[:BINS].sum()) == (2, 1)


def test_statistics_of_parts_and_of_the_whole() -> None:
    values = _values(3, 6000, 2.0).reshape(100, 4, 5, 3)
    parts = [Statistics(), Statistics()]
    for index, part in enumerate(np.split(values, 10)):
        parts[index % 2].add(part)
    whole = Statistics()
    whole.add(values)
    for statistics in (whole, merged(parts)):
        assert (statistics.min, statistics.max, statistics.count) == (values.min(), values.max(), values.size)
        assert statistics.mean == pytest.approx(values.mean(dtype=np.float64))
        assert statistics.second_moment == pytest.approx((values.astype(np.float64) ** 2).mean())
        assert list(statistics.histogram.signed) == list(whole.histogram.signed)
    means = whole.channel_means
    assert means is not None
    np.testing.assert_allclose(means, values.mean(axis=(0, 1, 2), dtype=np.float64))


def test_squares_beyond_float32() -> None:
    statistics = Statistics()
    statistics.add(np.full((2, 3), 1e30, np.float32))
    assert statistics.second_moment == pytest.approx(1e60, rel=1e-6)
