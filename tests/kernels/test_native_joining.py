"""Joined weights: both sums come back exactly where that is proven, and only there."""

import numpy as np
import pytest

from tinygen.ir.types import Array
from tinygen.kernels.native.joining import can_join, join
from tinygen.kernels.native.requantization import ShortRequantization
from tinygen.ops.requantize import Int64Array, wrap_int32

PAIRS = np.array([[0, 1]])
END = 1 << 23


def _short(bias: Int64Array, weights: Array, multiplier: int = 1 << 30) -> ShortRequantization:
    """Of two channels, with the exact range of their sums over int8 inputs."""
    wide = weights.astype(np.int64)
    positive, negative = np.maximum(wide, 0).sum(axis=1), np.minimum(wide, 0).sum(axis=1)
    low, high = bias + 127 * negative - 128 * positive, bias + 127 * positive - 128 * negative
    ones = np.ones(2, np.int64)
    return ShortRequantization(bias, multiplier * ones, ones, ones, False, low, high)


def _sums(weights: Array, bias: Int64Array, inputs: Array) -> tuple[Int64Array, Int64Array]:
    """What the kernels compute from joined weights: both sums of each input vector."""
    bytes, joined_bias = join(weights[PAIRS], bias[PAIRS])
    firsts, both = bytes[0, 0].astype(np.int64), (bytes[0].astype(np.int64) << np.array([[0], [8]]))
    halves = (both[1] + (firsts & 0xFF)).astype(np.int16).astype(np.int64)  # low byte, high byte
    x = inputs.astype(np.int64)
    first = wrap_int32(joined_bias[0, 0] + x @ firsts)
    joined = wrap_int32(joined_bias[0, 1] + x @ halves)
    return first, wrap_int32(joined - first) >> 8


@pytest.mark.parametrize("seed", range(50))
def test_both_sums_come_back(seed: int) -> None:
    """Random and extreme weights, biases and inputs."""
    rng = np.random.default_rng(seed)
    elements = int(rng.integers(1, 600))
    lowest = int(rng.choice((-128, -127)))
    weights = rng.integers(lowest, 128, (2, elements)).astype(np.int8)
    if seed % 3 == 0:
        weights = rng.choice(np.array([-127, 127], np.int8), (2, elements))
    bias = rng.integers(-(1 << 20), 1 << 20, 2)
    short = _short(bias, weights)
    if not can_join(weights, short, short, PAIRS):
        return
    extremes = np.where(weights[1] < 0, 127, -128)
    inputs = np.vstack((rng.integers(-128, 128, (50, elements)), extremes, -1 - extremes)).astype(np.int8)
    first, second = _sums(weights, bias, inputs)
    right = bias + inputs.astype(np.int64) @ weights.T.astype(np.int64)
    assert np.array_equal(first, right[:, 0]) and np.array_equal(second, right[:, 1])


@pytest.mark.parametrize(
    ("bias", "fits"),
    [(END - 1 - 128, True), (END - 128, False), (-END + 127, True), (-END + 126, False)],
)
def test_the_second_sum_must_fit_24_bits(bias: int, fits: bool) -> None:
    """A weight of -1 adds -127 to 128."""
    weights = np.array([[100], [-1]], np.int8)
    short = _short(np.array([0, bias]), weights)
    assert can_join(weights, short, short, PAIRS) is fits
    right = np.array([bias + 128, bias - 127])
    _, second = _sums(weights, np.array([0, bias]), np.array([[-128], [127]], np.int8))
    assert np.array_equal(second, right) is fits


def test_what_is_added_to_the_bias_counts() -> None:
    weights = np.array([[100], [-1]], np.int8)
    bias = np.array([0, END - 1 - 128])
    short, moved = _short(bias, weights), _short(bias + 1, weights)
    assert not can_join(weights, short, moved, PAIRS)


def test_sums_of_constant_channels_do_not_count() -> None:
    weights = np.array([[100], [-1]], np.int8)
    short = _short(np.array([0, 1 << 29]), weights, multiplier=0)
    assert can_join(weights, short, short, PAIRS)


@pytest.mark.parametrize(("first", "fits"), [(-1, False), (0, True)])
def test_the_lowest_weight_has_no_room_for_a_negative_neighbour(first: int, fits: bool) -> None:
    """256 * -128 - 1 is no 16-bit number."""
    weights = np.array([[first], [-128]], np.int8)
    short = _short(np.zeros(2, np.int64), weights)
    assert can_join(weights, short, short, PAIRS) is fits
