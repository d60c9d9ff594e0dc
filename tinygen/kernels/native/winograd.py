"""3x3 convolutions at stride 1 by Winograd's method in integers: fewer multiplications for more flash.

A tile of the output, Y = A' [(G g G') * (B' d B)] A, takes one multiplication for each element under it and each input
channel: 16 for 2x2 outputs, 36 for 4x4, where filters of 3x3 take 36 and 144. G has fractions; rows of it are scaled
so that all is in integers and each output is a fixed multiple of its accumulator, modulo 2**32.

Tiles of 1x2 are transformed along the rows alone: Y is the sum over the rows of the filter of [(G g) * (B' d)] A, which
takes 12 multiplications for 18. They waste nothing in calls of single rows and need the least scratch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.convolution import NativeConvolveS8, direct_convolution, form_of, pairs_of
from tinygen.kernels.native.convolution_twin8 import by_eights
from tinygen.kernels.native.native import clamped
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.native.runs import runs
from tinygen.kernels.packing import Packing, packing
from tinygen.kernels.prices import prices
from tinygen.kernels.work import Work, work
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.requantize import Int64Array, wrap_int32
from tinygen.ops.window import HW, UNIT
from tinygen.targets.isa import Isa

_FEWEST_CHANNELS = 4  # of the input: a word of each pixel
_AT_ONCE = {4: "", 2: "_pair", 1: "_single"}
_IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


@dataclass(frozen=True)
class Method:
    """One size of tiles."""

    rows: int  # of a tile
    columns: int
    tiles: int  # multiplied at once
    filter_columns: tuple[tuple[int, int, int], ...]  # the scaled G
    filter_rows: tuple[tuple[int, int, int], ...] | None  # the same; None where rows of the filter stay as they are
    multiple: int  # of the accumulator, that the products give
    largest: int  # accumulator that is got back from it

    @property
    def name(self) -> str:
        """As functions and tables call it."""
        return f"winograd_{self.rows}x{self.columns}{_AT_ONCE[self.tiles]}"

    @property
    def function(self) -> str:
        """That runs it."""
        return f"tg_native_{self.name}_s8"

    @property
    def positions(self) -> int:
        """Of which each has products of its own."""
        return len(self.filter_columns) * (1 if self.filter_rows is None else len(self.filter_rows))

    @property
    def sums(self) -> int:
        """Multiplications at a position for each channel of the input."""
        return 3 if self.filter_rows is None else 1

    def words(self, quads: int) -> int:
        """Of scratch, for so many words of a pixel: values of all positions, sums, and a pixel of padding."""
        return self.positions * 2 * self.tiles * (quads * self.sums + 1) + quads

    def work(self, op: Conv2D, rows: int | None, columns: int | None) -> Work:
        """The input under tiles is transformed, multiplied, and the products transformed back."""
        batches, all_rows, all_columns, channels = op.output.shape
        high = -(-(all_rows if rows is None else rows) // self.rows)
        tiles = high * -(-(all_columns if columns is None else columns) // self.columns)
        products = batches * -(-tiles // self.tiles) * -(-channels // 2) * self.positions
        tiles, quads = batches * tiles, -(-op.input.shape[3] // 4)
        return work(
            self.function,
            call=1,
            pixel=tiles,
            tap=tiles * quads,
            output=tiles * channels,
            mac=products * quads,
            start=products,
            clamped=clamped(op, rows, columns),
        )

    def transform(self, weights: Int64Array) -> Int64Array:
        """Filters [C, 3, 3, D] as [C, positions, sums, D]."""
        rows = np.array(self.filter_rows or _IDENTITY, np.int64)
        found: Int64Array = np.einsum("iy,jx,cyxd->cijd", rows, np.array(self.filter_columns, np.int64), weights)
        if self.filter_rows is None:
            return found.transpose(0, 2, 1, 3)
        return found.reshape(len(found), self.positions, 1, -1)


_G_2 = ((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2))
_G_4 = ((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 3))

METHODS = (
    Method(rows=4, columns=4, tiles=4, filter_columns=_G_4, filter_rows=_G_4, multiple=576, largest=(1 << 25) - 1),
    Method(rows=2, columns=2, tiles=4, filter_columns=_G_2, filter_rows=_G_2, multiple=4, largest=(1 << 29) - 1),
    *(
        Method(rows=1, columns=2, tiles=tiles, filter_columns=_G_2, filter_rows=None, multiple=2, largest=(1 << 30) - 1)
        for tiles in _AT_ONCE
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeWinogradS8(NativeConvolveS8):
    """tg_native_winograd_*_s8, which takes the parameters of a direct convolution."""

    method: Method
    others: tuple[Method, ...]  # that make do with as much scratch
    direct: NativeConvolveS8 | None  # convolution that does so, too

    @property
    def is_priced_by_cycles(self) -> bool:
        """Loops of flat tiles load many registers at once, which takes a cycle for each."""
        return self.method.rows == 1

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        assert isinstance(op, Conv2D)
        return self.method.work(op, rows, columns)

    def works(self, op: Op, rows: int | None = None, columns: int | None = None) -> tuple[Work, ...]:
        """Parts may be computed by other tiles, or directly."""
        assert isinstance(op, Conv2D)
        tiled = tuple(method.work(op, rows, columns) for method in (self.method, *self.others))
        return (*tiled, self.direct.work(op, rows, columns)) if self.direct else tiled


def lower_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The direct kernel and those with tiles of so many rows at most: the fastest first, each further one with less
    scratch. Tiles of one row save too little where their products run in C.
    """
    assert isinstance(op, Conv2D)
    direct = direct_convolution(op, toolbox.isa)
    if direct is None:
        return ()
    price = prices(toolbox).instructions
    tiles = tiled(op, direct, toolbox.tallest_tile_of(op.weights), toolbox.isa)
    assert op.weights.data is not None  # there is a direct kernel
    one_by_one = runs(op, op.weights.data.reshape(len(op.weights.data), -1), toolbox.isa)
    kernels = (direct, *by_eights(op, direct, form_of(op), toolbox), *tiles, *one_by_one)
    found: list[Kernel] = []
    for kernel in sorted(kernels, key=lambda kernel: price(kernel.work(op))):
        if not found or kernel.scratch_bytes < found[-1].scratch_bytes:
            found.append(kernel)
    return tuple(found)


def tiled(op: Conv2D, direct: Kernel, tallest_tile: int, isa: Isa) -> tuple[Kernel, ...]:
    """A kernel for each size of tiles that computes `op` exactly, as `direct` does without tiles."""
    weights = op.weights.data
    if weights is None or op.window.kernel != HW(3, 3) or op.stride != UNIT or op.input.shape[3] < _FEWEST_CHANNELS:
        return ()
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    assert short is not None  # there is a direct kernel
    largest_sum = int(short.largest_sum.max())
    least_tile = 1 if isa.runs_dsp_kernels else 2
    methods = [m for m in METHODS if least_tile <= m.rows <= tallest_tile and largest_sum <= m.largest]
    return tuple(_kernel(op, weights, short, method, methods, direct) for method in methods)


def _kernel(
    op: Conv2D, weights: Array, short: ShortRequantization, method: Method, methods: Sequence[Method], direct: Kernel
) -> NativeWinogradS8:
    quads = -(-op.input.shape[3] // 4)
    scratch_bytes = 4 * method.words(quads)
    return NativeWinogradS8(
        function=method.function,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("winograd_rows" if method.rows == 1 else method.name, _words(op, weights, short, method)),),
        scratch_bytes=scratch_bytes,
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
        quads=quads,
        pair_words=0,
        parted=None,
        method=method,
        others=tuple(m for m in methods if m is not method and 4 * m.words(quads) <= scratch_bytes),
        direct=direct if isinstance(direct, NativeConvolveS8) and direct.scratch_bytes <= scratch_bytes else None,
    )


def _words(op: Conv2D, weights: Array, short: ShortRequantization, method: Method) -> Packing:
    pair = method.positions * method.sums * (-(-op.input.shape[3] // 4) * 4) + 8
    key = method.filter_columns, method.filter_rows, op.output_stage.key
    return packing(key, len(pairs_of(len(weights))) * pair, lambda: _stream(weights, short, method))


def _stream(weights: Array, short: ShortRequantization, method: Method) -> Array:
    """The words that the kernel reads, pair by pair of channels; `weights`: [C, 3, 3, D]."""
    transformed = method.transform(weights.astype(np.int64))
    padded = np.pad(transformed, ((0, 0), (0, 0), (0, 0), (0, -weights.shape[3] % 4)))
    pairs = pairs_of(len(weights))
    quads = padded[pairs].reshape(len(pairs), 2, method.positions, -1, 2, 2)  # ..., quad, element / 2, element % 2
    halves = np.ascontiguousarray(quads.transpose(0, 2, 3, 5, 1, 4).astype("<i2"))  # of a word: element / 2
    words = halves.reshape(len(pairs), -1).view("<i4")
    bias = wrap_int32(short.bias * method.multiple)
    scales: Int64Array = np.stack((bias, short.multiplier, short.offset, short.shift), axis=1)[pairs]
    return np.concatenate((words, scales.reshape(len(pairs), -1)), axis=1).astype(np.int32).reshape(-1)


LOWERINGS: Lowerings = {Conv2D: lower_conv2d}
