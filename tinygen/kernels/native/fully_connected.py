"""Fully connected layers as products of one vector with groups of 8 units."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected

_UNITS = 8  # of a group
_FEWEST_UNITS = 4  # below, most of the only group is filling


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeFullyConnectedS8(Kernel):
    """tg_native_fully_connected_s8."""

    template: ClassVar[str] = "native_fully_connected_s8"
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    rows: int
    features: int
    units: int
    activation: Clamp


def lower_fully_connected(op: Op) -> Kernel | None:
    """The native kernel for `op`, None where there is none."""
    assert isinstance(op, FullyConnected)
    weights = op.weights.data
    return None if weights is None else product_with_rows(op, weights, op.rows)


def product_with_rows(op: FullyConnected | Conv2D, weights: Array, rows: int) -> Kernel | None:
    """The kernel for `rows` input vectors and `weights` [units, features], None where there is none."""
    short = short_requantization(op.output_stage, weights.astype(np.int64))
    units, features = weights.shape
    if short is None or units < _FEWEST_UNITS:
        return None
    return NativeFullyConnectedS8(
        function="tg_native_fully_connected_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("vector", _stream(weights, short)),),
        scratch_bytes=8 * -(-features // 4),
        rows=rows,
        features=features,
        units=units,
        activation=op.clamp,
    )


def _stream(weights: Array, short: ShortRequantization) -> Array:
    """The words that tg_native_gemv reads, group by group; units of zeros fill the last one."""
    units, features = weights.shape
    missing = -units % _UNITS
    padded = np.pad(weights, ((0, missing), (0, -features % 4)))
    words = np.ascontiguousarray(padded).view("<i4").reshape(len(padded) // _UNITS, _UNITS, -1).transpose(0, 2, 1)
    scales = np.pad(np.stack((short.multiplier, short.offset, short.shift), axis=1), ((0, missing), (0, 0)))
    groups = len(words)
    bias = np.pad(short.bias, (0, missing)).reshape(groups, -1)
    parts = (bias, words.reshape(groups, -1), scales.reshape(groups, -1))
    return np.concatenate(parts, axis=1).astype(np.int32).reshape(-1)
