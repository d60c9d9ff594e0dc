"""Between which values sums of products lie, whatever the inputs, and what they are scaled to."""

import numpy as np

from tinygen.ir.channels import Intervals
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.requantize import Multiplier, requantize_wide, requantized_intervals

INT16_END = 1 << 15
INT32_END = 1 << 31


def any_centered(tensor: Tensor) -> Intervals:
    """Whatever a quantized tensor may hold, less its zero point."""
    type = tensor.type
    return Intervals(*(np.array([end - type.zero_point]) for end in (type.min, type.max)))


def sums_of_products(weights: Array, values: Intervals) -> Intervals:
    """Of each row of weights, [rows, columns], the least and the largest sum of products with values of each column.

    Of an interval there is one for all, or one for each row and column.
    """
    rows = weights.astype(np.int64)
    ends = rows * values.low, rows * values.high
    return Intervals(np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1))


def scaled(sums: Intervals, scaling: Multiplier, is_wide: bool = False) -> Intervals:
    """What requantization makes of sums, before it saturates; of 64 bits where they are `is_wide`."""
    if is_wide:
        return sums.each(lambda ends: requantize_wide(ends, np.array(scaling.multiplier), np.array(scaling.shift)))
    return requantized_intervals(sums, scaling.multiplier, scaling.shift, 0)


def fits(values: Intervals, end: int) -> bool:
    """Whether all are from -`end` up to less than `end`."""
    return bool((values.low >= -end).all() and (values.high < end).all())
