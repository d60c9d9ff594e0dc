"""Weights that stand as codes with a scale for each block, as integers times one scale for each output channel.

A weight is scale[channel] * factor[channel, block] * (code - zero point). Factors of E8M0 scales are powers of two, so
that nothing is lost; others are the scales of blocks in 15 bits, of which the channel's largest takes all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]

_LARGEST_FACTOR = (1 << 15) - 1
_MOST_SHIFTS = 24  # between the blocks of a channel
_LONGEST_BLOCK = 1 << 15  # elements of a filter with one factor: sums of products of 9 bits each keep within 32


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """Filters [channels, height, width, depth]."""

    numbers: Int64Array  # codes less their zero points; those of FP4 in halves
    factors: Int64Array  # [channels, blocks along the depth]
    scales: Float64Array  # [channels], numbers of float32
    are_powers: bool  # whether factors are powers of two

    @property
    def weights(self) -> Int64Array:
        """Numbers times factors."""
        channels, blocks = self.factors.shape
        depth = self.numbers.shape[3]
        spread = np.repeat(self.factors, depth // blocks, axis=1)
        return self.numbers * spread.reshape(channels, 1, 1, depth)

    @property
    def has_factors(self) -> bool:
        """Whether any is not 1."""
        return bool((self.factors != 1).any())


def integer_form(filters: Coding) -> IntegerForm | None:
    """The integers of a coding as `Coding.as_filters` gives it; None of 8-bit floats, and of powers too far apart."""
    if not filters.format.is_integer and filters.format is not Format.FP4_E2M1FN:
        return None
    channels, height, width, depth = filters.codes.shape
    blocks = filters.scales.shape[3]
    if height * width * depth // blocks > _LONGEST_BLOCK:
        return None
    halves = 1 if filters.format.is_integer else 2
    numbers: Int64Array = np.rint(filters.centered.astype(np.float64) * halves).astype(np.int64)
    given = filters.scales.reshape(-1, blocks).astype(np.float64)
    scales: Float64Array = np.broadcast_to(given, (channels, blocks)) / halves
    has_numbers = numbers.reshape(channels, height * width, blocks, -1).any(axis=(1, 3))
    used = np.where(has_numbers, scales, 0)
    are_powers = filters.scale_format is Format.FP8_E8M0FNU
    if are_powers:
        smallest = np.where(has_numbers, scales, np.inf).min(axis=1)
        units = np.where(np.isfinite(smallest), smallest, 1)
        ratios = np.where(has_numbers, scales / units[:, None], 1)
        if ratios.max(initial=1) > 2.0**_MOST_SHIFTS:
            return None
    else:
        largest = np.abs(used).max(axis=1)
        steps = 1 if blocks == 1 else _LARGEST_FACTOR
        units = (np.where(largest > 0, largest, 1) / steps).astype(np.float32).astype(np.float64)
        ratios = np.clip(np.where(has_numbers, used / units[:, None], 1), -_LARGEST_FACTOR, _LARGEST_FACTOR)
    return IntegerForm(numbers, np.rint(ratios).astype(np.int64), units, are_powers)
