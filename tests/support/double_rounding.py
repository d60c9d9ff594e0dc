"""Double-rounding requantization in exact integers, one value at a time: an independent model for tests."""

from fractions import Fraction


def multiplier_and_shift(factor: float) -> tuple[int, int]:
    """factor = multiplier * 2**(shift - 31), multiplier in [2**30, 2**31), both rounded to nearest."""
    exact, shift = Fraction(factor), 0
    while exact >= 1:
        exact, shift = exact / 2, shift + 1
    while exact < Fraction(1, 2):
        exact, shift = exact * 2, shift - 1
    multiplier = int(exact * 2**31 + Fraction(1, 2))
    return (multiplier // 2, shift + 1) if multiplier == 2**31 else (multiplier, shift)


def requantized(accumulator: int, multiplier: int, shift: int, zero_point: int) -> int:
    """The stored int8 value: the product rounded (ties up), then the shift rounded (ties away from zero)."""
    doubled = Fraction(accumulator * 2 ** max(shift, 0) * multiplier, 2**31)
    high = (doubled + Fraction(1, 2)).__floor__()
    scaled = Fraction(high, 2 ** max(-shift, 0))
    magnitude = (abs(scaled) + Fraction(1, 2)).__floor__()
    return max(-128, min(127, (magnitude if scaled >= 0 else -magnitude) + zero_point))
