"""Weights as codes and scales.

The arithmetic of scales and integers is that of Core AI's `quantize_weights`, in float32. Scales are rounded to the
type in which they are stored before weights are divided by them, so that what is decoded is what was nearest.
"""

from dataclasses import dataclass

import numpy as np

from tinygen.compress.blocks import Blocks
from tinygen.compress.powers import coded, power_scales
from tinygen.compress.scheme import CodeScheme, Compat, QScheme
from tinygen.ir.coding import Coding, spread
from tinygen.ir.formats import Format
from tinygen.ir.types import Array, Float32Array

_EPSILON = np.float32(1e-6)  # keeps scales of zeros positive


@dataclass(frozen=True, eq=False)
class Grid:
    """What the codes of each block stand for. Arrays have an axis of blocks for each of the weights'."""

    scheme: CodeScheme
    scales: Array  # as they are stored
    divisors: Float32Array  # what weights are divided by: the scales, but for `Compat.COREAI`
    zeros: Float32Array | None  # codes of zero, whole numbers; None of float formats

    def codes(self, values: Float32Array) -> Array:
        """The nearest codes of weights, or of others of their shape."""
        zeros = None if self.zeros is None else _spread(self.zeros, values.shape)
        return nearest(values, _spread(self.divisors, values.shape), zeros, self.scheme)

    def coding(self, codes: Array) -> Coding:
        """Codes of the shape of the weights, with these scales; ValueError where they are no finite numbers."""
        zeros = self.zeros
        is_centered = zeros is None or (self.scheme.qscheme is QScheme.SYMMETRIC and self.scheme.dtype.is_signed)
        zero_points = None if zeros is None or is_centered else zeros.astype(self.scheme.dtype.numpy)
        coding = Coding(codes, self.scales, zero_points)
        if not np.isfinite(coding.decoded).all():
            raise ValueError(f"its scales are no finite numbers of {coding.scale_format.value}")
        return coding


def encode(weights: Array, scheme: CodeScheme, block_sizes: tuple[int, ...]) -> Coding:
    """The codes of float32 or float16 weights; ValueError where blocks do not divide them or they are not finite."""
    grid = grid_of(blocks_of(weights, block_sizes), scheme, weights.dtype)
    with np.errstate(over="ignore"):
        return grid.coding(grid.codes(weights.astype(np.float32)))


def blocks_of(weights: Array, block_sizes: tuple[int, ...]) -> Blocks:
    """Finite weights in blocks; ValueError."""
    if not np.isfinite(weights).all():
        raise ValueError("it holds numbers that are not finite")
    return Blocks.of(weights, block_sizes)


def nearest(values: Float32Array, divisors: Float32Array, zeros: Float32Array | None, scheme: CodeScheme) -> Array:
    """The codes nearest to values, element by element: halves to even, saturated."""
    if zeros is None:
        return coded(values, divisors, scheme.dtype)
    low, high = integer_limits(scheme.dtype, scheme.qscheme)
    codes: Array = np.clip(np.rint(values / divisors) + zeros, low, high).astype(scheme.dtype.numpy)
    return codes


def grid_of(blocks: Blocks, scheme: CodeScheme, scale_dtype: np.dtype[np.generic], share: float = 1.0) -> Grid:
    """Scales that reach the largest weight of each block, or that `share` of it; the rule says which powers of two."""
    with np.errstate(over="ignore"):
        return (_integers if scheme.dtype.is_integer else _floats)(blocks, scheme, scale_dtype, np.float32(share))


def integer_limits(form: Format, qscheme: QScheme) -> tuple[int, int]:
    """The codes that are used: of symmetric ones as many above zero as below."""
    low, high = int(form.min), int(form.max)
    if qscheme is QScheme.ASYMMETRIC:
        return low, high
    return (low + 1, high) if form.is_signed else (low, high - 1)


def _integers(blocks: Blocks, scheme: CodeScheme, scale_dtype: np.dtype[np.generic], share: np.float32) -> Grid:
    low, high = integer_limits(scheme.dtype, scheme.qscheme)
    if scheme.qscheme is QScheme.SYMMETRIC:
        raw = (2 * (share * blocks.largest) + _EPSILON) / np.float32(high - low)
        zeros = np.full_like(raw, 0 if scheme.dtype.is_signed else high // 2)
    else:
        smallest, largest = (share * end for end in blocks.range)
        extent = largest - smallest + _EPSILON
        raw = extent / np.float32(high - low)
        zeros = np.clip(np.rint((low * largest - high * smallest) / extent), low, high)
    return _grid(blocks, scheme, raw, _stored(raw, scale_dtype), zeros)


def _floats(blocks: Blocks, scheme: CodeScheme, scale_dtype: np.dtype[np.generic], share: np.float32) -> Grid:
    form = scheme.dtype
    raw = (2 * (share * blocks.largest) + _EPSILON) / np.float32(2 * form.max)
    if not scheme.has_power_of_two_scales:
        scales = _stored(raw, scale_dtype)
    elif scheme.compat is Compat.COREAI:
        scales = raw.astype(Format.FP8_E8M0FNU.numpy)
    else:
        scales = power_scales(blocks, form, scheme.e8m0)
    return _grid(blocks, scheme, raw, scales, None)


def _grid(blocks: Blocks, scheme: CodeScheme, raw: Float32Array, scales: Array, zeros: Float32Array | None) -> Grid:
    divisors = raw if scheme.compat is Compat.COREAI else scales.astype(np.float32)
    return Grid(
        scheme,
        blocks.per_block(scales),
        blocks.per_block(divisors),
        None if zeros is None else blocks.per_block(zeros),
    )


def _spread(blocks: Float32Array, shape: tuple[int, ...]) -> Float32Array:
    return spread(blocks, shape).astype(np.float32, copy=False)


def _stored(raw: Float32Array, dtype: np.dtype[np.generic]) -> Array:
    """Scales in the type of the weights; those that are too small for it are its smallest number."""
    scales: Array = raw.astype(dtype)
    least = np.nextafter(np.zeros((), dtype), np.ones((), dtype))
    return np.where(scales.astype(np.float32) > 0, scales, least)
