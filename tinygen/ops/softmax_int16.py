"""Softmax of int16 values by interpolated tables of 513 entries, as TFLite's reference kernel computes it."""

from functools import cache

import numpy as np

from tinygen.ops.interpolated import Table, interpolate, table_of
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

OUTPUT_SCALE = 1 / 32768
TABLE_ERROR = 2 * OUTPUT_SCALE  # of each exponential at most: those below exp(-10) count as that

_TABLE_SCALE = 2 / 65535
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_SPAN = 10.0  # exp() is tabulated from -10 to 0
_ONE = 1 << 16  # a sum of exponentials of 1.0, once it is normalized


def scaling_int16(input_scale: float, beta: float) -> Multiplier:
    """From differences of inputs to 10/65535."""
    return quantize_multiplier(input_scale * beta / (_SPAN / 65535.0))


@cache
def exponential_table() -> Table:
    """exp(x) in Q15 for x from -10 to 0."""
    return table_of(np.exp, 10.0 / 65535.0, _HIGH, _TABLE_SCALE)


@cache
def reciprocal_table() -> Table:
    """1 / (1 + x) in Q15 for x from 0 to 1."""
    return table_of(lambda x: 1 / (1 + x), 1.0 / 65535.0, _LOW, _TABLE_SCALE)


def softmax_int16(rows: Int64Array, scaling: Multiplier) -> Int64Array:
    """The softmax of each row, in Q15."""
    difference = requantize(rows - rows.max(axis=1, keepdims=True), scaling.multiplier, scaling.shift)
    exponentials = interpolate(exponential_table(), np.clip(difference + _HIGH, _LOW, _HIGH))
    total = exponentials.sum(axis=1, keepdims=True)
    headroom = 30 - np.floor(np.log2(total)).astype(np.int64)
    normalized = ((total << headroom) + (1 << 13)) >> 14
    reciprocal = interpolate(reciprocal_table(), np.clip(normalized - _ONE + _LOW, _LOW, _HIGH))
    shift = 30 - headroom
    result: Int64Array = np.clip((exponentials * reciprocal + (1 << (shift - 1))) >> shift, 0, _HIGH)
    return result
