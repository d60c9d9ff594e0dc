"""Requantization: multipliers against exact fractions, both roundings as gemmlowp has them, at the ends of ranges."""

from fractions import Fraction

import numpy as np
import pytest

from tinygen.ir.channels import Intervals
from tinygen.ops.requantize import (
    Multiplier,
    doubling_high_multiply,
    multiplier_arrays,
    quantize_multiplier,
    reduced_multiplier,
    requantize,
    requantize_wide,
    requantized_intervals,
    round_half_away,
    rounding_shift_right,
)

_ENDS = (-(1 << 31), -(1 << 31) + 1, -(1 << 30), -3, -2, -1, 0, 1, 2, 3, (1 << 30) - 1, 1 << 30, (1 << 31) - 1)
_FACTORS = (
    0.0,
    5e-324,
    2.0**-33,
    2.0**-32,
    2.0**-31,
    0.5,
    1 - 2.0**-53,
    1 - 2.0**-32,
    1.0,
    2.0**30 * (1 - 2.0**-40),
    2.0**30,
    1e300,
)
_MULTIPLIERS = (1 << 30, (1 << 30) + 1, 0x5A5A5A5A, (1 << 31) - 1)


def _high(a: int, b: int) -> int:
    """gemmlowp's saturating rounding doubling high multiply: a nudge by sign, then C's division."""
    product = a * b
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    return min((abs(nudged) >> 31) * (1 if nudged >= 0 else -1), (1 << 31) - 1)


def _divided(value: int, bits: int) -> int:
    """gemmlowp's rounding divide by a power of two: remainder against a threshold that is one more for negatives."""
    remainder, threshold = value & ((1 << bits) - 1), (((1 << bits) - 1) >> 1) + (value < 0)
    return (value >> bits) + (remainder > threshold)


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_are_the_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for real in 2.0 ** rng.uniform(-31, 30, 300):
        found = quantize_multiplier(float(real))
        assert 1 << 30 <= found.multiplier < 1 << 31
        step = Fraction(2) ** (found.shift - 31)
        assert abs(found.multiplier * step - Fraction(float(real))) <= step / 2


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (0.0, Multiplier(0, 0)),
        (1.0, Multiplier(1 << 30, 1)),
        (1 - 2.0**-31, Multiplier((1 << 31) - 1, 0)),
        (1 - 2.0**-33, Multiplier(1 << 30, 1)),  # 31 bits hold no mantissa that is rounded up to one
        (2.0**-32 * (1 - 2.0**-33), Multiplier(1 << 30, -31)),
        (2.0**-32, Multiplier(1 << 30, -31)),
        (2.0**-32 * (1 - 2.0**-31), Multiplier(0, 0)),
        (2.0**30 * (1 - 2.0**-31), Multiplier((1 << 31) - 1, 30)),
        (2.0**30 * (1 - 2.0**-33), Multiplier((1 << 31) - 1, 30)),
        (2.0**30, Multiplier((1 << 31) - 1, 30)),
        (2.0**100, Multiplier((1 << 31) - 1, 30)),
    ],
)
def test_multipliers_at_their_ends(real: float, expected: Multiplier) -> None:
    assert quantize_multiplier(real) == expected


@pytest.mark.parametrize("real", [-1e-9, float("inf"), float("nan")])
def test_no_multiplier(real: float) -> None:
    with pytest.raises(ValueError, match=r"^requantization factor \S+ is not a finite number >= 0$"):
        quantize_multiplier(real)


def test_halves_go_away_from_zero() -> None:
    assert [round_half_away(value) for value in (-1.5, -0.5, -0.4, 0.0, 0.4, 0.5, 2.5)] == [-2, -1, 0, 0, 0, 1, 3]


def test_high_words() -> None:
    pairs = [(a, b) for a in _ENDS for b in (*_ENDS, *_MULTIPLIERS)]
    first, second = np.array(pairs, np.int64).T
    assert doubling_high_multiply(first, second).tolist() == [_high(a, b) for a, b in pairs]


def test_shifts() -> None:
    pairs = [(value, bits) for value in (*_ENDS, *range(-40, 41)) for bits in range(32)]
    values, bits = np.array(pairs, np.int64).T
    assert rounding_shift_right(values, bits).tolist() == [_divided(*pair) for pair in pairs]


def test_both_roundings() -> None:
    cases = [(v, m, s) for v in (*_ENDS, *range(-9, 10)) for m in _MULTIPLIERS for s in range(-31, 31)]
    right = []
    for value, multiplier, shift in cases:
        moved = ((value << max(shift, 0)) + (1 << 31)) % (1 << 32) - (1 << 31)
        right.append(_divided(_high(moved, multiplier), max(-shift, 0)))
    values, multipliers, shifts = np.array(cases, np.int64).T
    assert requantize(values, multipliers, shifts).tolist() == right


def test_wide_values() -> None:
    """value * round(multiplier / 2**16), capped at 15 bits, over 2**(15 - shift), halves up."""
    cases = [
        (v, m, s) for v in (-(1 << 47), -12345, -1, 0, 7, (1 << 47) - 1) for m in _MULTIPLIERS for s in (-20, 0, 14)
    ]
    values, multipliers, shifts = np.array(cases, np.int64).T
    reduced = [min(int(Fraction(m, 1 << 16) + Fraction(1, 2)), 32767) for _, m, _ in cases]
    assert reduced_multiplier(multipliers).tolist() == reduced
    right = [(v * m + (1 << (14 - s))) >> (15 - s) for (v, _, s), m in zip(cases, reduced, strict=True)]
    assert requantize_wide(values, multipliers, shifts).tolist() == right


def test_intervals_end_where_shifts_to_the_left_leave_32_bits() -> None:
    """Up to there the ends are requantized as any value; beyond, nothing is known."""
    low, high = np.array([-(1 << 29), -(1 << 29), -(1 << 30)]), np.array([(1 << 29) - 1, 1 << 30, 5])
    found = requantized_intervals(Intervals(low, high), 1 << 30, np.array([1, 1, 1]), 3)
    assert found.low.tolist() == [-(1 << 29) + 3, -(1 << 31), -(1 << 31)]
    assert found.high.tolist() == [(1 << 29) - 1 + 3, 1 << 31, 1 << 31]


def test_arrays_of_multipliers_are_each_what_one_factor_gives() -> None:
    random = np.random.default_rng(0)
    factors = [*_FACTORS, *(random.uniform(0.5, 1, 2_000) * 2.0 ** random.integers(-40, 40, 2_000)).tolist()]
    multipliers, shifts = multiplier_arrays(factors)
    each = [quantize_multiplier(factor) for factor in factors]
    assert multipliers.tolist() == [one.multiplier for one in each]
    assert shifts.tolist() == [one.shift for one in each]


@pytest.mark.parametrize("factor", [-0.5, float("nan"), float("inf")])
def test_what_is_no_factor_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        multiplier_arrays([0.5, factor])
