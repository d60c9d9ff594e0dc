"""Softmax of int16 values by interpolated tables of 513 entries, as TFLite's reference kernel computes it."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

OUTPUT_SCALE = 1 / 32768
TABLE_ERROR = 2 * OUTPUT_SCALE  # of each exponential at most: those below exp(-10) count as that

_STEPS = 512
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_SPAN = 10.0  # exp() is tabulated from -10 to 0
_ONE = 1 << 16  # a sum of exponentials of 1.0, once it is normalized

_Table = npt.NDArray[np.int16]


def scaling_int16(input_scale: float, beta: float) -> Multiplier:
    """From differences of inputs to 10/65535."""
    return quantize_multiplier(input_scale * beta / (_SPAN / 65535.0))


@cache
def exponential_table() -> _Table:
    """exp(x) in Q15 for x from -10 to 0."""
    return _table(np.exp, 10.0 / 65535.0, _HIGH)


@cache
def reciprocal_table() -> _Table:
    """1 / (1 + x) in Q15 for x from 0 to 1."""
    return _table(lambda x: 1 / (1 + x), 1.0 / 65535.0, _LOW)


def softmax_int16(rows: Int64Array, scaling: Multiplier) -> Int64Array:
    """The softmax of each row, in Q15."""
    difference = requantize(rows - rows.max(axis=1, keepdims=True), scaling.multiplier, scaling.shift)
    exponentials = _interpolate(exponential_table(), np.clip(difference + _HIGH, _LOW, _HIGH))
    total = exponentials.sum(axis=1, keepdims=True)
    headroom = 30 - np.floor(np.log2(total)).astype(np.int64)
    normalized = ((total << headroom) + (1 << 13)) >> 14
    reciprocal = _interpolate(reciprocal_table(), np.clip(normalized - _ONE + _LOW, _LOW, _HIGH))
    shift = 30 - headroom
    result: Int64Array = np.clip((exponentials * reciprocal + (1 << (shift - 1))) >> shift, 0, _HIGH)
    return result


def _interpolate(table: _Table, position: Int64Array) -> Int64Array:
    wide = table.astype(np.int64)
    index, offset = 256 + (position >> 7), position & 0x7F
    value: Int64Array = wide[index] + (((wide[index + 1] - wide[index]) * offset + 64) >> 7)
    return value


def _table(function: Callable[[np.float32], np.float32], step: float, zero_point: int) -> _Table:
    """Q15 values of a function of stored * step, with half of the error in the middle of each interval taken away.

    Every operation is rounded to float32, as TFLite's table generator has it.
    """
    scale = np.float32(step)
    low, high = scale * np.float32(_LOW - zero_point), scale * np.float32(_HIGH - zero_point)
    interval = (high - low) / np.float32(_STEPS)
    output_scale = np.float32(2.0 / 65535.0)
    inverse = np.float32(65536) / (output_scale * np.float32(_HIGH) - output_scale * np.float32(_LOW))
    entries = []
    for i in range(_STEPS):
        start = low + np.float32(i) * interval
        value = _round(function(start) * inverse)
        next_value = function(low + np.float32(i + 1) * interval) * inverse
        middle = _round(function(start + interval / np.float32(2)) * inverse)
        error = _round((next_value + value) / np.float32(2)) - middle
        entries.append(value - _round(error / np.float32(2)))
    entries.append(_round(function(high) * inverse))
    return np.clip(np.array(entries), _LOW, _HIGH).astype(np.int16)


def _round(value: np.float32) -> np.float32:
    return np.float32(math.copysign(math.floor(abs(float(value)) + 0.5), float(value)))
