"""Two pixels in a word: both sums come back exactly where four or two elements may stand together, and only there."""

import numpy as np
import pytest

from tinygen.ir.types import Array
from tinygen.kernels.native import twins
from tinygen.ops.requantize import Int64Array, wrap_int32

PAIR = np.array([[0, 1]])


def _sums(weights: Array, inputs: Array, parted: bool) -> Int64Array:
    """What kernels make of four weights and two pixels, of which elements 0 and 2 stand together, 1 and 3."""
    x = inputs.astype(np.int64)
    words = wrap_int32((x[0] + 65536 * x[1]) * weights.astype(np.int64))
    groups = (words[[0, 2]], words[[1, 3]]) if parted else (words,)
    products = wrap_int32(np.array([group.sum() for group in groups]))
    second = (wrap_int32(products + (1 << 15)) >> 16).sum()
    return wrap_int32(np.array([products.sum() - (second << 16), second]))


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ((127, 127, 1, 0), True),  # 128 * 255 below, 127 * 255 above
        ((127, 127, 2, 0), True),  # -2**15
        ((127, 127, 3, 0), False),
        ((-128, -127, 0, 0), True),  # 128 * 255 above
        ((-128, -127, -1, 0), False),  # 2**15
        ((-128, -127, 1, 0), True),  # 2**15 - 1
        ((-64, -64, -64, -63), True),
        ((-64, -64, -64, -64), False),
    ],
)
def test_four_elements_stand_together_up_to_16_bits(weights: tuple[int, ...], whole: bool) -> None:
    """On the inputs that give the ends of both pixels' sums."""
    pair = np.array([weights, (0, 0, 0, 0)], np.int8)
    assert (twins.parted_share(pair, PAIR) == 0.0) is whole
    assert twins.can_twin(pair)
    highest = np.where(pair[0] < 0, -128, 127)
    ends = [highest, -1 - highest]
    found = {parted: [_sums(pair[0], np.array([a, b]), parted) for a in ends for b in ends] for parted in (False, True)}
    right = [np.array([a @ pair[0].astype(int), b @ pair[0].astype(int)]) for a in ends for b in ends]
    assert np.array_equal(found[True], right)
    assert np.array_equal(found[False], right) is whole


def test_two_weights_of_minus_128_cannot_stand_together() -> None:
    """Elements 0 and 2 of four do, 1 and 3 do; 0 and 1 do not."""
    lowest = [[-128, 0, -128, 0], [0, -128, 0, -128], [-128, -128, 0, 0], [-128, 0, -127, 0]]
    assert [twins.can_twin(np.array([weights], np.int8)) for weights in lowest] == [False, False, True, True]


@pytest.mark.parametrize("fours", [1, 31, 32, 33, 65])
def test_bits_stand_before_each_32_fours(fours: int) -> None:
    """The highest one is for the first; either channel sets it."""
    weights = np.zeros((2, 4 * fours), np.int8)
    weights[0, 0] = weights[0, 1] = weights[1, -2] = weights[1, -1] = weights[1, -3] = 127
    words = np.arange(2 * fours, dtype=np.int32).reshape(1, -1)
    found = twins.with_bits(words, weights, PAIR)[0]
    at = range(0, found.size, 65)
    assert len(at) == twins.bit_words(4 * fours)
    assert np.array_equal(np.delete(found, at), words[0])
    bits = "".join(f"{int(found[i]) & 0xFFFFFFFF:032b}" for i in at)
    assert [i for i, bit in enumerate(bits) if bit == "1"] == [fours - 1]


@pytest.mark.parametrize("seed", range(20))
def test_random_filters_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, (1, 4)).astype(np.int8)
    parted = twins.parted_share(weights, np.array([[0, 0]])) > 0
    for inputs in rng.integers(-128, 128, (50, 2, 4)):
        assert np.array_equal(_sums(weights[0], inputs, parted), inputs @ weights[0].astype(int))


@pytest.mark.parametrize(
    ("weights", "parted"),
    [
        ((127, 127, 1, 0, 0, 0, 0, 0), False),
        ((127, 0, 0, 0, 0, 0, 0, 127), False),
        ((127, 127, 3, 0, 0, 0, 0, 0), True),
        ((32, 32, 32, 32, 32, 32, 32, 31), False),
        ((32, 32, 32, 32, 32, 32, 32, 33), True),
    ],
)
def test_eight_elements_of_all_units_stand_together(weights: tuple[int, ...], parted: bool) -> None:
    group = np.zeros((1, 8, 16), np.int8)
    group[0, 5, 8:] = weights
    assert np.array_equal(twins.parted_eights(group), [[False, parted]])


def test_two_weights_of_minus_128_side_by_side_are_no_units() -> None:
    rows = [[-128, -128, 0, 0], [0, -128, -128, 0], [-128, -127, 0, 0]]
    assert [twins.can_twin_units(np.array([weights], np.int8)) for weights in rows] == [False, True, True]


@pytest.mark.parametrize(
    ("weights", "together"),
    [
        ((32, 32, 32, 32, 32, 32, 32, 31), 8),
        ((32, 32, 32, 32, 32, 32, 32, 33), 4),
        ((-32, -32, -32, -32, -32, -32, -32, -32), 4),
        ((127, 127, 1, 0, 127, 127, 2, 0), 4),
        ((0, 0, 0, 0, 127, 127, 3, 0), 2),
        ((127, 127, 3, 0, 0, 0, 0, 0), 2),
    ],
)
def test_elements_of_a_channel_are_parted_by_eight_four_or_two(weights: tuple[int, ...], together: int) -> None:
    """Each channel for itself; four more elements have no number."""
    channels = np.array([(0,) * 12, (*weights, 127, 127, 127, 127)], np.int8)
    assert twins.eights_of(channels).tolist() == [[8], [together]]


def test_bits_of_sixteen_eights_are_a_word() -> None:
    sizes = np.array([[2] * 16 + [8, 4, 2]])
    assert [f"{int(word) & 0xFFFFFFFF:032b}" for word in twins.bits_of(sizes)[0]] == ["1" * 32, "01011".ljust(32, "0")]
