"""Convolutions of Armv6-M: two pixels in a word, the channels one by one in groups of 8."""

from dataclasses import replace

import numpy as np

from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table, Toolbox
from tinygen.kernels.native import twins
from tinygen.kernels.native.convolution import NativeConvolveS8, columns_of
from tinygen.kernels.native.linear import LinearRequantization, linear_requantization
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.packing import packing
from tinygen.ops.weighted import Weighted

_GROUP = 8  # channels, whose weights of an element lie side by side


def by_eights(op: Weighted, direct: Kernel, form: str, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernel beside `direct` of that `form_of` columns, none where it is no faster or not exact."""
    weights = op.weights.data
    if weights is None or not isinstance(direct, NativeConvolveS8) or not direct.has_blocks:
        return ()
    if not twins.gains_alone(toolbox.has_thumb2, len(weights)):
        return ()
    columns = columns_of(weights)
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    if short is None or short.largest_sum.max() > twins.LARGEST_SUM or not twins.can_twin(columns):
        return ()
    requantization = linear_requantization(op.output_stage, short) or short
    sizes = twins.eights_of(_in_order(columns))
    channels, elements = columns.shape
    numbers = 1 + twins.bit_words(elements - elements % _GROUP, _GROUP // 2) + len(requantization.scale)
    words = packing(
        ("tg_native_gemm_twin8", op.output_stage.key),
        -(-channels // _GROUP) * 2 * elements + channels * numbers,
        lambda: stream(columns, requantization),
    )
    kernel = replace(
        direct,
        function=f"tg_native_convolve{form}_twin8{'' if requantization is short else '_relu'}_s8",
        tables=(Table("twins8", words),),
        pair_words=0,
        parted=float((_GROUP / sizes - 1).mean() / (_GROUP / 2 - 1)) if sizes.size else 0.0,
    )
    return (kernel,)


def stream(columns: Array, requantization: ShortRequantization | LinearRequantization) -> Array:
    """The words that tg_native_gemm_twin8 reads, of filters [channel, element] in the order of packing."""
    ordered = _in_order(columns)
    padded = np.pad(ordered, ((0, -len(ordered) % _GROUP), (0, 0))).reshape(-1, _GROUP, ordered.shape[1])
    weights = np.ascontiguousarray(padded.transpose(0, 2, 1)).reshape(len(padded), -1).view("<i4")
    bits, scales = twins.bits_of(twins.eights_of(ordered)), np.stack(requantization.scale, axis=1)
    numbers = np.concatenate((requantization.bias[:, np.newaxis], bits, scales), axis=1).astype(np.int32)
    groups = np.split(numbers, range(_GROUP, len(numbers), _GROUP))
    return np.concatenate([part.reshape(-1) for pair in zip(weights, groups, strict=True) for part in pair])


def _in_order(columns: Array) -> Array:
    """Of each four elements 0 and 2, then 1 and 3, as their columns are packed."""
    return columns.reshape(len(columns), -1, 2, 2).transpose(0, 1, 3, 2).reshape(columns.shape)
