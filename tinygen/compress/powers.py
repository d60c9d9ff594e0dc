"""Scales that are powers of two, as E8M0 stores them."""

import numpy as np
import numpy.typing as npt

from tinygen.compress.blocks import Blocks
from tinygen.compress.scheme import PowerOfTwo
from tinygen.ir.formats import Format
from tinygen.ir.types import Array, Float32Array

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
_LEAST, _MOST = -127, 127  # exponents


def power_scales(blocks: Blocks, form: Format, rule: PowerOfTwo) -> Array:
    """The scale of each block; 1 for those of zeros."""
    largest = blocks.largest
    floor = _powers(_exponent(largest) - form.max_exponent, largest)
    if rule is PowerOfTwo.FLOOR:
        return floor
    ceil = _powers(_ceiling(largest.astype(np.float64) / form.max), largest)
    if rule is PowerOfTwo.CEIL:
        return ceil
    errors: list[Float64Array] = [_squared_error(blocks, scales, form) for scales in (floor, ceil)]
    return np.asarray(np.where(errors[1] < errors[0], ceil, floor))


def coded(values: Float32Array, scales: Float32Array, form: Format) -> Array:
    """Values divided by scales as numbers of a float format: to the nearest, ties to even, saturated."""
    return np.asarray(np.clip(values / scales, form.min, form.max).astype(form.numpy))


def _exponent(values: Float32Array) -> IntArray:
    """floor(log2(value)), exactly."""
    exponents: IntArray = np.frexp(values)[1]
    return exponents - 1


def _ceiling(values: Float64Array) -> IntArray:
    """ceil(log2(value)), exactly."""
    fraction, exponent = np.frexp(values)
    return np.where(fraction == 0.5, exponent - 1, exponent)


def _powers(exponents: IntArray, largest: Float32Array) -> Array:
    used = np.where(largest > 0, np.clip(exponents, _LEAST, _MOST), 0)
    return np.ldexp(np.float64(1), used).astype(Format.FP8_E8M0FNU.numpy)


def _squared_error(blocks: Blocks, scales: Array, form: Format) -> Float64Array:
    factors = scales.astype(np.float32)
    errors: Float64Array = coded(blocks.values, factors, form).astype(np.float64) * factors - blocks.values
    return np.asarray((errors**2).sum(axis=blocks.inner, keepdims=True), np.float64)
