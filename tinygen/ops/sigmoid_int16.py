"""Sigmoid and tanh of int16 values by an interpolated table of 256 entries, as TFLite's reference kernels have them."""

from functools import cache

import numpy as np
import numpy.typing as npt

from tinygen.ops.requantize import Int64Array, Multiplier

OUTPUT_SCALE = 1 / 32768
TABLE_ERROR = 2 * OUTPUT_SCALE  # of sigmoids at most (`tests/frontends/test_onnx_int16.py`)

_ENTRIES = 256
_HALF = 1 << 15  # in Q16
_STEPS_OF_ONE = 24  # entries of the table between 0 and 1
_FIXED = 3 * 4096  # scaled inputs count in 1 / (3 * 4096)
_LARGEST = (1 << 15) - 1  # multiplier
_MOST_SHIFTED = 31
_Q = 9  # bits between two entries: of sigmoid; tanh(x) = 2 sigmoid(2 x) - 1 has one less


@cache
def sigmoid_table() -> npt.NDArray[np.uint16]:
    """TFLite's: sigmoid(i / 24) in Q16, with half of the error in the middle of each interval taken away."""
    positions = np.arange(0, _ENTRIES + 0.5, 0.5) / _STEPS_OF_ONE
    real = 65536 / (1 + np.exp(-positions))
    middle_error = (real[:-2:2] + real[2::2]) / 2 - real[1::2]
    table = np.rint(real[:-2:2] - middle_error / 2).astype(np.uint16)
    table[-1] = 65535
    return table


def sigmoid_offsets() -> npt.NDArray[np.int16]:
    """The table less 1/2, which 16 bits hold with a sign: how C kernels have it."""
    return (sigmoid_table().astype(np.int32) - _HALF).astype(np.int16)


def scaling_int16(input_scale: float) -> Multiplier:
    """From inputs to 1 / (3 * 4096), as a factor and a right shift; for large scales the factor is above 15 bits."""
    factor, shift = input_scale * _FIXED, 0
    while factor <= _LARGEST / 2 and shift < _MOST_SHIFTED:
        factor, shift = factor * 2, shift + 1
    return Multiplier(int(factor), shift)


def is_computable(scaling: Multiplier) -> bool:
    """Whether the factor has 15 bits at most."""
    return scaling.multiplier <= _LARGEST


def sigmoid_int16(stored: Int64Array, scaling: Multiplier) -> Int64Array:
    """The sigmoid in Q15."""
    scaled = _scaled(stored, scaling)
    value = _interpolated(np.abs(scaled), _Q, 0x7FFF << 10)
    half = 1 << _Q
    result: Int64Array = np.where(scaled >= 0, value + half, (1 << (16 + _Q)) - value + half - 1) >> 10
    return result


def tanh_int16(stored: Int64Array, scaling: Multiplier) -> Int64Array:
    """The hyperbolic tangent in Q15."""
    scaled = _scaled(stored, scaling)
    value = _interpolated(np.abs(scaled), _Q - 1, 0xFFFF << 8)
    one, half = 1 << (14 + _Q), 1 << (_Q - 2)
    result: Int64Array = np.where(scaled >= 0, value - one + half, -value + one + half - 1) >> (_Q - 1)
    return result


def _scaled(stored: Int64Array, scaling: Multiplier) -> Int64Array:
    half = 1 << (scaling.shift - 1) if scaling.shift else 0
    result: Int64Array = (stored * scaling.multiplier + half) >> scaling.shift
    return result


def _interpolated(magnitude: Int64Array, bits: int, saturated: int) -> Int64Array:
    """Sigmoids with `bits` more places than the table has; `saturated` from its last entry on."""
    table = sigmoid_table().astype(np.int64)
    index = np.minimum(magnitude >> bits, _ENTRIES - 2)
    first, second = table[index], table[index + 1]
    value = (first << bits) + (magnitude & ((1 << bits) - 1)) * (second - first)
    return np.where(magnitude >> bits >= _ENTRIES - 1, saturated, value)
