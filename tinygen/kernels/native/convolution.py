"""Convolutions as matrix products of 4 pixels with pairs of channels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import NO_PADDING, UNIT, Window

_PIXELS = 4  # of a block


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeConvolveS8(Kernel):
    """tg_native_convolve_s8 and its variants for 1x1 filters and for clamps that hide negative values."""

    template: ClassVar[str] = "native_convolve_s8"
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: Window
    zero_point: int
    activation: Clamp
    quads: int


def lower_conv2d(op: Op) -> Kernel | None:
    """The native kernel for `op`, None where there is none: dilation, groups, one channel, unusual scales."""
    assert isinstance(op, Conv2D)
    weights = op.weights.data
    if weights is None or op.dilation != UNIT or op.groups != 1 or len(weights) < 2:
        return None
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    if short is None:
        return None
    columns = _columns(weights)
    return NativeConvolveS8(
        function=_function(op, short),
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("stream", stream(columns, short)),),
        scratch_bytes=2 * _PIXELS * columns.shape[1] + _further_bytes(op),
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
        quads=columns.shape[1] // 4,
    )


def _further_bytes(op: Conv2D) -> int:
    """A row of the filter, where some lie partly beside the input, or a block of outputs, where there is none."""
    _, _, width, depth = op.weights.shape
    line_bytes = -(-width * depth // 4) * 4 if depth % 4 and (op.padding.left or op.padding.right) else 0
    pixels = op.output.shape[1] * op.output.shape[2]
    block_bytes = _PIXELS * op.output.shape[3] if pixels < _PIXELS else 0
    return max(line_bytes, block_bytes)


def _function(op: Conv2D, short: ShortRequantization) -> str:
    is_1x1 = op.window.kernel == UNIT and op.stride == UNIT and op.padding == NO_PADDING
    return f"tg_native_convolve{'_1x1' if is_1x1 else ''}{'_relu' if short.is_relu else ''}_s8"


def _columns(weights: Array) -> Array:
    """Filters [C, KH, KW, D] as [C, elements] in the order of packing.

    The whole words of each row come first, then the bytes that are left: of 1 or 2 those of several rows in one word,
    of 3 a word for each row. Zeros fill words.
    """
    channels, height = weights.shape[:2]
    rows = weights.reshape(channels, height, -1)
    whole = rows.shape[2] // 4 * 4
    left = rows[:, :, whole:]
    if left.shape[2] == 3:
        left = np.pad(left, ((0, 0), (0, 0), (0, 1)))
    joined = np.concatenate((rows[:, :, :whole].reshape(channels, -1), left.reshape(channels, -1)), axis=1)
    return np.pad(joined, ((0, 0), (0, -joined.shape[1] % 4)))


def stream(columns: Array, short: ShortRequantization) -> Array:
    """The words that tg_native_gemm reads, pair by pair of channels."""
    pairs = _pairs(len(columns))
    quads = columns[pairs].reshape(len(pairs), 2, -1, 2, 2)  # pair, channel, quad, element / 2, element % 2
    bytes = np.ascontiguousarray(quads.transpose(0, 2, 4, 3, 1))  # of a word: element / 2, channel
    words = bytes.reshape(len(pairs), -1).view("<i4")
    bias = short.bias[pairs]
    scales = np.stack((short.multiplier, short.offset, short.shift), axis=1)[pairs]
    parts = (bias, words, scales.reshape(len(pairs), -1))
    return np.concatenate(parts, axis=1).astype(np.int32).reshape(-1)


def _pairs(channels: int) -> Int64Array:
    """Channels two by two; of an odd number the second one stands in two pairs."""
    odd = [[0, 1]] if channels % 2 else []
    even = [[first, first + 1] for first in range(channels % 2, channels, 2)]
    return np.array(odd + even, np.int64)
