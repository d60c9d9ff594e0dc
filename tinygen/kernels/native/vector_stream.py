"""Weights in the order in which one vector is multiplied with groups of 8 units: the stream of tg_native_gemv.h."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.types import Array
from tinygen.kernels.base import Table
from tinygen.kernels.native.joining import can_join, join
from tinygen.kernels.native.native import StreamForm
from tinygen.kernels.native.requantization import ShortRequantization
from tinygen.kernels.packing import packing
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.requantize import Int64Array
from tinygen.targets.isa import Isa

UNITS = 8  # of a group
FEWEST_UNITS = 4  # below, most of the only group is filling


@dataclass(frozen=True)
class VectorStream:
    """What kernels read of a layer, and whether weights of two units are joined in it."""

    table: Table
    is_joined: bool


def form_of_vector(features: int, is_joined: bool) -> StreamForm:
    """Of the stream of so many features."""
    return StreamForm(UNITS, UNITS * -(-features // 4), 3 * UNITS, is_joined=is_joined)


def vector_stream(stage: OutputStage, weights: Array, short: ShortRequantization, isa: Isa) -> VectorStream:
    """Of weights [units, features]."""
    units, features = weights.shape
    pairs = np.arange(units - units % 2).reshape(-1, 2)  # a last unit stands with zeros
    is_joined = isa.runs_dsp_kernels and can_join(weights, short, short, pairs)
    words = packing(
        ("tg_native_gemv", stage.key, is_joined),
        -(-units // UNITS) * form_of_vector(features, is_joined).words,
        lambda: _stream(weights, short, is_joined),
    )
    return VectorStream(Table("vector", words), is_joined)


def _stream(weights: Array, short: ShortRequantization, is_joined: bool) -> Array:
    """The words that tg_native_gemv reads, group by group; units of zeros fill the last one."""
    units, features = weights.shape
    missing = -units % UNITS
    padded = np.pad(weights, ((0, missing), (0, -features % 4)))
    scales = np.pad(np.stack((short.multiplier, short.offset, short.shift), axis=1), ((0, missing), (0, 0)))
    bias = np.pad(short.bias, (0, missing))
    if is_joined:
        words, bias = _joined_words(padded, bias)
    else:
        words = np.ascontiguousarray(padded).view("<i4").reshape(len(padded) // UNITS, UNITS, -1).transpose(0, 2, 1)
    groups = len(words)
    parts = (bias.reshape(groups, -1), words.reshape(groups, -1), scales.reshape(groups, -1))
    return np.concatenate(parts, axis=1).astype(np.int32).reshape(-1)


def _joined_words(weights: Array, bias: Int64Array) -> tuple[Array, Int64Array]:
    """Words [group, quad, 8] of weights [unit, element], and biases: of each pair of units 2 words."""
    joined, bias = join(weights.reshape(-1, 2, weights.shape[1]), bias.reshape(-1, 2))
    quads = joined.reshape(-1, UNITS // 2, 2, weights.shape[1] // 4, 2, 2)  # ..., unit, quad, element / 2, element % 2
    bytes = np.ascontiguousarray(quads.transpose(0, 3, 1, 5, 4, 2))  # group, quad, pair; of a word: element / 2, unit
    return bytes.reshape(len(quads), -1, UNITS, 4).view("<i4"), bias
