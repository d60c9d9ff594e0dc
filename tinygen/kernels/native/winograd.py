"""3x3 convolutions at stride 1 by Winograd's method in integers: fewer multiplications for more flash.

A tile of the output, Y = A' [(G g G') * (B' d B)] A, takes one multiplication for each element under it and each input
channel: 16 for 2x2 outputs, 36 for 4x4, where filters of 3x3 take 36 and 144. G has fractions; rows of it are scaled
so that all is in integers and each output is a fixed multiple of its accumulator, modulo 2**32.
"""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.types import Array
from tinygen.kernels.base import Table
from tinygen.kernels.native.convolution import NativeConvolveS8, pairs_of
from tinygen.kernels.native.costs import convolution_instructions, winograd_instructions
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.requantize import Int64Array, wrap_int32
from tinygen.ops.window import HW, UNIT

_FEWEST_CHANNELS = 4  # of the input: a word of each pixel
_VALUE_WORDS = 8  # of a position, for 4 channels
_PRODUCT_WORDS = 8


@dataclass(frozen=True)
class Method:
    """One size of tiles."""

    size: int
    filter_rows: tuple[tuple[int, int, int], ...]  # the scaled G
    multiple: int  # of the accumulator, that the products give
    largest: int  # accumulator that is got back from it

    @property
    def name(self) -> str:
        """As functions and tables call it."""
        return f"winograd_{self.size}x{self.size}"

    @property
    def function(self) -> str:
        """That runs it."""
        return f"tg_native_{self.name}_s8"

    @property
    def positions(self) -> int:
        """Multiplications for each tile and each channel of the input."""
        return len(self.filter_rows) ** 2


METHODS = (
    Method(
        size=2,
        filter_rows=((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)),
        multiple=4,
        largest=(1 << 29) - 1,
    ),
    Method(
        size=4,
        filter_rows=((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 3)),
        multiple=576,
        largest=(1 << 25) - 1,
    ),
)


def lower_winograd(op: Conv2D, largest_tile: int) -> tuple[NativeConvolveS8, ...]:
    """Kernels that are faster than the direct one, the fastest first, each further one with less scratch and flash."""
    weights = op.weights.data
    if weights is None or op.window.kernel != HW(3, 3) or op.stride != UNIT or op.input.shape[3] < _FEWEST_CHANNELS:
        return ()
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    assert short is not None  # there is a direct kernel
    rows = op.output.shape[1]
    best = convolution_instructions(op, rows)
    found: list[NativeConvolveS8] = []
    for method in METHODS:
        instructions = winograd_instructions(op, method.function, rows)
        is_exact = bool(short.largest_sum.max() <= method.largest)
        if method.size <= largest_tile and is_exact and instructions < best:
            best = instructions
            found.insert(0, _kernel(op, weights, short, method))
    return tuple(found)


def _kernel(op: Conv2D, weights: Array, short: ShortRequantization, method: Method) -> NativeConvolveS8:
    quads = -(-op.input.shape[3] // 4)
    words = method.positions * (_VALUE_WORDS * quads + _PRODUCT_WORDS)
    return NativeConvolveS8(
        function=method.function,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table(method.name, _stream(weights, short, method)),),
        scratch_bytes=4 * words + 4 * quads,  # the last ones are a pixel of padding
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
        quads=quads,
        pair_words=0,
    )


def _stream(weights: Array, short: ShortRequantization, method: Method) -> Array:
    """The words that the kernel reads, pair by pair of channels; `weights`: [C, 3, 3, D]."""
    channels, depth = len(weights), weights.shape[3]
    rows = np.array(method.filter_rows, np.int64)
    transformed = np.einsum("iy,jx,cyxd->cijd", rows, rows, weights.astype(np.int64))
    padded = np.pad(transformed.reshape(channels, method.positions, depth), ((0, 0), (0, 0), (0, -depth % 4)))
    pairs = pairs_of(channels)
    quads = padded[pairs].reshape(len(pairs), 2, method.positions, -1, 2, 2)  # ..., quad, element / 2, element % 2
    halves = np.ascontiguousarray(quads.transpose(0, 2, 3, 5, 1, 4).astype("<i2"))  # of a word: element / 2
    words = halves.reshape(len(pairs), -1).view("<i4")
    bias = wrap_int32(short.bias * method.multiple)
    scales: Int64Array = np.stack((bias, short.multiplier, short.offset, short.shift), axis=1)[pairs]
    return np.concatenate((words, scales.reshape(len(pairs), -1)), axis=1).astype(np.int32).reshape(-1)
