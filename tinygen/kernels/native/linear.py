"""Requantization by one multiplication, for outputs that are clamped at their zero point: proven by thresholds.

Above the zero point the double rounding of `ops.requantize` is a staircase: the output is q or more where the
accumulator is at or above an integer T[q]. So is

    output = saturate(((sum * multiplier >> 32) + offset) >> SHIFT),  sum = accumulator + added to the bias

Both are the same for all inputs where they have the same T, which is to say that with u = added * multiplier +
offset * 2**32, for every q of the staircase

    (T[q] - 1) * multiplier + u  <  q * 2**(32 + SHIFT)  <=  T[q] * multiplier + u

These are bounds of u; what is to be added to the bias is searched so that u lies between them.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from tinygen.kernels.native.requantization import ShortRequantization
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.requantize import Int64Array, wrap_int32

SHIFT = 2  # fixed in the assembly
_MASK = (1 << 32) - 1
_STEPS = 1 << (32 + SHIFT)  # of u for one of the output
_LARGEST_RIGHT = 22  # shift for which int64 holds all products here
_MULTIPLIERS = range(-8, 9)  # that are tried, around the nearest one
_ADDED = (1 << 12, 1 << 17)  # most that is added to a bias, a second time for channels without a solution
_MOST_KNOWN = 1 << 15  # channels: tiles of one operator have the same ones


@dataclass(frozen=True, eq=False)
class LinearRequantization:
    """Constants of each output channel."""

    bias: Int64Array  # with the input's zero point folded in, modulo 2**32
    multiplier: Int64Array
    offset: Int64Array

    @property
    def scale(self) -> tuple[Int64Array, ...]:
        """As streams hold it."""
        return self.multiplier, self.offset


def linear_requantization(stage: OutputStage, short: ShortRequantization) -> LinearRequantization | None:
    """The constants, None where negative results must be exact or a channel has none."""
    if not short.is_relu:
        return None
    channels = zip(
        *(v.tolist() for v in (short.multiplier, short.shift, short.offset, short.low, short.high)), strict=True
    )
    found = [_channel(stage.output.type.zero_point, *scale) for scale in channels]
    constants = [each for each in found if each is not None]
    if len(constants) < len(found):
        return None
    added, multiplier, offset = np.array(constants, np.int64).T
    return LinearRequantization(wrap_int32(short.bias + added), multiplier, offset)


@lru_cache(_MOST_KNOWN)
def _channel(
    zero_point: int, multiplier: int, right: int, offset: int, low: int, high: int
) -> tuple[int, int, int] | None:
    """What is added to the bias, multiplier, offset; from the constants of a channel's short requantization."""
    if multiplier == 0:  # the output is always the same
        return 0, 0, (offset >> right) << SHIFT
    nearest = (multiplier << (SHIFT + 1)) >> right
    if right < 1 or right > _LARGEST_RIGHT or nearest + _MULTIPLIERS[-1] >= 1 << 31:
        return None
    steps = np.arange(1, 128 - zero_point, dtype=np.int64)  # of the output above its zero point
    first_rounding = (steps << right) - (1 << (right - 1))
    thresholds = -((-(first_rounding << 31) + (1 << 30)) // multiplier)
    goals = (steps + zero_point) * _STEPS
    candidates = nearest + np.array(_MULTIPLIERS)[:, np.newaxis]
    reached = (goals - np.maximum(thresholds, low) * candidates)[:, thresholds <= high]
    missed = (goals - np.minimum(thresholds - 1, high) * candidates)[:, thresholds > low]
    least, ends = reached.max(axis=1, initial=-(1 << 62)), missed.min(axis=1, initial=1 << 62)
    bounds = list(zip(candidates[:, 0].tolist(), least.tolist(), ends.tolist(), strict=True))
    for most, (candidate, first, end) in product(_ADDED, bounds):
        found = _split(candidate, first, end, most) if candidate > 0 else None
        if found is not None and _fits(low + found[0], high + found[0], candidate, found[1]):
            return found[0], candidate, found[1]
    return None


def _split(multiplier: int, least: int, end: int, most: int) -> tuple[int, int] | None:
    """The smallest `added`, up to `most`, and its `offset` whose u is at least `least` and below `end`; of a number and
    its negative the latter.

    The least offset that takes u to `least` takes it beyond by what is left of added * multiplier - least modulo 2**32,
    which is to be less than `end - least`.
    """
    if least >= end:
        return None
    low, high = least & _MASK, (least & _MASK) + min(end - least - 1, _MASK)
    if low == 0 or high > _MASK:
        return 0, -(-least >> 32)  # rounded up
    up, down = _first_within(multiplier, _MASK + 1, low, high), _first_within(-multiplier, _MASK + 1, low, high)
    added = min((-down, up), key=abs)
    return (added, -((added * multiplier - least) >> 32)) if abs(added) <= most else None


def _first_within(factor: int, modulus: int, low: int, high: int) -> int:
    """The smallest number whose product with `factor`, modulo `modulus`, is from `low` to `high`, which are above 0 and
    below the modulus; the modulus, which is more than any, where there is none.

    As Euclid's algorithm: either a multiple of the factor lies there, or as many times the modulus as are taken off are
    the smallest number for which there is room for one, which is the same question modulo the factor.
    """
    factor %= modulus
    if not factor:
        return modulus
    if 2 * factor > modulus:  # count downwards: at most half is left of the modulus each time
        factor, low, high = modulus - factor, modulus - high, modulus - low
    first = -(-low // factor)
    if first * factor <= high:
        return first
    often = _first_within(modulus, factor, -high % factor, -low % factor)
    return modulus if often == factor else -(-(low + often * modulus) // factor)


def _fits(low: int, high: int, multiplier: int, offset: int) -> bool:
    """Whether sums and scaled sums are int32."""
    ends = (low, high, (low * multiplier >> 32) + offset, (high * multiplier >> 32) + offset, offset)
    return all(-(1 << 31) <= end < 1 << 31 for end in ends)
