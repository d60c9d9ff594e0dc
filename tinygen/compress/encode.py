"""Weights as codes and scales.

The arithmetic of scales and integers is that of Core AI's `quantize_weights`, in float32. Scales are rounded to the
type in which they are stored before weights are divided by them, so that what is decoded is what was nearest.
"""

import numpy as np

from tinygen.compress.blocks import Blocks
from tinygen.compress.powers import coded, power_scales
from tinygen.compress.scheme import Compat, QScheme, Scheme
from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.types import Array, Float32Array

_EPSILON = np.float32(1e-6)  # keeps scales of zeros positive


def encode(weights: Array, scheme: Scheme, block_sizes: tuple[int, ...]) -> Coding:
    """The codes of float32 or float16 weights; ValueError where blocks do not divide them or they are not finite."""
    if not np.isfinite(weights).all():
        raise ValueError("it holds numbers that are not finite")
    blocks = Blocks.of(weights, block_sizes)
    with np.errstate(over="ignore"):
        coding = (_integers if scheme.dtype.is_integer else _floats)(blocks, scheme, weights.dtype)
    if not np.isfinite(coding.decoded).all():
        raise ValueError(f"its scales are no finite numbers of {coding.scale_format.value}")
    return coding


def integer_limits(form: Format, qscheme: QScheme) -> tuple[int, int]:
    """The codes that are used: of symmetric ones as many above zero as below."""
    low, high = int(form.min), int(form.max)
    if qscheme is QScheme.ASYMMETRIC:
        return low, high
    return (low + 1, high) if form.is_signed else (low, high - 1)


def _integers(blocks: Blocks, scheme: Scheme, scale_dtype: np.dtype[np.generic]) -> Coding:
    low, high = integer_limits(scheme.dtype, scheme.qscheme)
    if scheme.qscheme is QScheme.SYMMETRIC:
        raw = (2 * blocks.largest + _EPSILON) / np.float32(high - low)
        zeros = np.full_like(raw, 0 if scheme.dtype.is_signed else high // 2)
    else:
        smallest, largest = blocks.range
        extent = largest - smallest + _EPSILON
        raw = extent / np.float32(high - low)
        zeros = np.clip(np.rint((low * largest - high * smallest) / extent), low, high)
    scales = _stored(raw, scale_dtype)
    codes = np.clip(np.rint(blocks.values / _divisor(raw, scales, scheme)) + zeros, low, high)
    is_centered = scheme.qscheme is QScheme.SYMMETRIC and scheme.dtype.is_signed
    return Coding(
        codes.reshape(blocks.shape).astype(scheme.dtype.numpy),
        blocks.per_block(scales),
        None if is_centered else blocks.per_block(zeros).astype(scheme.dtype.numpy),
    )


def _floats(blocks: Blocks, scheme: Scheme, scale_dtype: np.dtype[np.generic]) -> Coding:
    form = scheme.dtype
    raw = (2 * blocks.largest + _EPSILON) / np.float32(2 * form.max)
    if not scheme.has_power_of_two_scales:
        scales = _stored(raw, scale_dtype)
    elif scheme.compat is Compat.COREAI:
        scales = raw.astype(Format.FP8_E8M0FNU.numpy)
    else:
        scales = power_scales(blocks, form, scheme.e8m0)
    codes = coded(blocks.values, _divisor(raw, scales, scheme), form)
    return Coding(codes.reshape(blocks.shape), blocks.per_block(scales))


def _stored(raw: Float32Array, dtype: np.dtype[np.generic]) -> Array:
    """Scales in the type of the weights; those that are too small for it are its smallest number."""
    scales: Array = raw.astype(dtype)
    least = np.nextafter(np.zeros((), dtype), np.ones((), dtype))
    return np.where(scales.astype(np.float32) > 0, scales, least)


def _divisor(raw: Float32Array, stored: Array, scheme: Scheme) -> Float32Array:
    return raw if scheme.compat is Compat.COREAI else stored.astype(np.float32)
