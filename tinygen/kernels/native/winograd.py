"""3x3 convolutions by Winograd's method in integers: fewer multiplications for more flash.

A tile of the output, Y = A' [(G g G') * (B' d B)] A, takes one multiplication for each element under it and each input
channel: 16 for 2x2 outputs, 36 for 4x4, where filters of 3x3 take 36 and 144. G has fractions; rows of it are scaled
so that all is in integers and each output is a fixed multiple of its accumulator, modulo 2**32.

Tiles of 1x2 are transformed along the rows alone: Y is the sum over the rows of the filter of [(G g) * (B' d)] A, which
takes 12 multiplications for 18. They waste nothing in calls of single rows and need the least scratch.

At stride 2 the outer taps of a filter meet every other input along an axis, as a filter of two taps at stride 1 does,
which takes 3 multiplications for 2 outputs; the inner one meets those between. Along both axes these are 25
multiplications for 2x2 outputs, where filters take 36: with 16 transformed filters, as some meet several inputs. That
saves too little where products run in C.

Filters may stand in flash as they are, and are transformed in the call then, once for each few tiles: that pays with
tall tiles on small images.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import IN_CALL, Kernel, Lowerings, Table, Toolbox
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
from tinygen.ops.window import HW
from tinygen.targets.isa import Isa

_FEWEST_CHANNELS = 4  # of the input: a word of each pixel
_AT_ONCE = {4: "", 2: "_pair", 1: "_single"}
_TAPS = 3  # of a filter along an axis
_PLACES = _TAPS * _TAPS
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
    stride: int = 1
    order: tuple[int, ...] = ()  # of transformed filters in the stream, where several positions share one
    shared: tuple[int, int] = (0, 0)  # then: positions, of which each takes a multiplication, and products of these
    is_in_call: bool = False  # whether filters are transformed there

    @property
    def name(self) -> str:
        """As functions and tables call it."""
        stride = f"_stride{self.stride}" if self.stride > 1 else ""
        return f"winograd_{self.rows}x{self.columns}{_AT_ONCE[self.tiles]}{'_bytes' * self.is_in_call}{stride}"

    def suits(self, growth: int, isa: Isa) -> bool:
        """Whether filters may grow as much as its own do, on cores where it gains."""
        if self.is_in_call or growth == IN_CALL:
            return self.is_in_call and growth == IN_CALL
        return self.rows <= growth and (isa.runs_dsp_kernels or (self.rows > 1 and self.stride == 1))

    @property
    def function(self) -> str:
        """That runs it."""
        return f"tg_native_{self.name}_s8"

    @property
    def positions(self) -> int:
        """Of which each takes a multiplication."""
        return self.shared[0] or self.filters

    @property
    def products(self) -> int:
        """That are stored, for each channel of a tile."""
        return self.shared[1] or self.filters

    @property
    def filters(self) -> int:
        """Transformed ones, for each channel; several positions may share one."""
        return len(self.filter_columns) * (1 if self.filter_rows is None else len(self.filter_rows))

    @property
    def sums(self) -> int:
        """Multiplications at a position for each channel of the input."""
        return 3 if self.filter_rows is None else 1

    def words(self, quads: int) -> int:
        """Of scratch, for so many words of a pixel: values of all positions, sums, a pixel of padding, and filters of
        two channels where these are transformed in the call."""
        filters = self.filters * 4 * quads * self.sums * self.is_in_call
        return 2 * self.tiles * (self.positions * quads * self.sums + self.products) + quads + filters

    def filter_words(self, quads: int) -> int:
        """Of the stream, for two channels."""
        return _PLACES * 2 * quads if self.is_in_call else self.filters * self.sums * 4 * quads

    def work(self, op: Conv2D, rows: int | None, columns: int | None) -> Work:
        """The input under tiles is transformed, multiplied, and the products transformed back."""
        batches, all_rows, all_columns, channels = op.output.shape
        high = -(-(all_rows if rows is None else rows) // self.rows)
        tiles = high * -(-(all_columns if columns is None else columns) // self.columns)
        times = batches * -(-tiles // self.tiles) * -(-channels // 2)
        tiles, quads = batches * tiles, -(-op.input.shape[3] // 4)
        return work(
            self.function,
            call=1,
            pixel=tiles,
            tap=tiles * quads,
            output=tiles * channels,
            mac=times * self.positions * quads,
            start=times * self.products,
            clamped=clamped(op, rows, columns),
        )

    def transform(self, weights: Int64Array) -> Int64Array:
        """Filters [C, 3, 3, D] as [C, filters, sums, D]."""
        rows = np.array(self.filter_rows or _IDENTITY, np.int64)
        found: Int64Array = np.einsum("iy,jx,cyxd->cijd", rows, np.array(self.filter_columns, np.int64), weights)
        if self.filter_rows is None:
            return found.transpose(0, 2, 1, 3)
        found = found.reshape(len(found), self.filters, 1, -1)
        return found[:, self.order] if self.order else found


_G_2 = ((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2))
_G_4 = ((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 3))
_G_STRIDE2 = ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0))
_TWICE_G_STRIDE2 = ((2, 0, 0), (2, 0, 2), (0, 0, 2), (0, 2, 0))

_TALL = Method(rows=4, columns=4, tiles=4, filter_columns=_G_4, filter_rows=_G_4, multiple=576, largest=(1 << 25) - 1)

METHODS = (
    _TALL,
    replace(_TALL, is_in_call=True),
    Method(rows=2, columns=2, tiles=4, filter_columns=_G_2, filter_rows=_G_2, multiple=4, largest=(1 << 29) - 1),
    *(
        Method(rows=1, columns=2, tiles=tiles, filter_columns=_G_2, filter_rows=None, multiple=2, largest=(1 << 30) - 1)
        for tiles in _AT_ONCE
    ),
    Method(
        rows=2,
        columns=2,
        tiles=4,
        filter_columns=_G_STRIDE2,
        filter_rows=_TWICE_G_STRIDE2,
        multiple=2,
        largest=(1 << 30) - 1,
        stride=2,
        order=(0, 3, 15, 12, 8, 11, 10, 14, 2, 4, 7, 6, 1, 13, 9, 5),
        shared=(25, 11),
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeWinogradS8(NativeConvolveS8):
    """tg_native_winograd_*_s8, which takes the parameters of a direct convolution."""

    method: Method
    others: tuple[Method, ...]  # that make do with as much scratch
    direct: NativeConvolveS8 | None  # convolution that does so, too

    @property
    def layout(self) -> str:
        """Of the stream."""
        if not self.method.is_in_call:
            return super().layout
        return (
            "For each pair of channels: 3x3 filters, for each four inputs and place a word of each channel; bias, "
            "multiplier, offset, shift of each. See tg_native_winograd.h."
        )

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
    """The direct kernel and those with tiles of as many rows as filters may grow for: the fastest first, each further
    one with less scratch. Tiles of one row, and at stride 2, save too little where their products run in C.
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


def may_be_tiled(op: Op) -> bool:
    """Whether filters may be transformed: those of others stand in flash as they are, however much they may grow."""
    if not isinstance(op, Conv2D) or op.weights.data is None:
        return False
    is_tiled = op.window.kernel == HW(3, 3) and any(_steps(op, method) for method in METHODS)
    return is_tiled and op.input.shape[3] >= _FEWEST_CHANNELS


def _steps(op: Conv2D, method: Method) -> bool:
    return op.stride == HW(method.stride, method.stride)


def tiled(op: Conv2D, direct: Kernel, growth: int, isa: Isa) -> tuple[Kernel, ...]:
    """A kernel for each size of tiles that computes `op` exactly, as `direct` does without tiles."""
    weights = op.weights.data
    if weights is None or not may_be_tiled(op):
        return ()
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    assert short is not None  # there is a direct kernel
    largest_sum = int(short.largest_sum.max())
    suited = [method for method in METHODS if _steps(op, method) and method.suits(growth, isa)]
    methods = [method for method in suited if largest_sum <= method.largest]
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
    pair = method.filter_words(-(-op.input.shape[3] // 4)) + 8
    key = method.filter_columns, method.filter_rows, method.order, method.is_in_call, op.output_stage.key
    return packing(key, len(pairs_of(len(weights))) * pair, lambda: _stream(weights, short, method))


def _stream(weights: Array, short: ShortRequantization, method: Method) -> Array:
    """The words that the kernel reads, pair by pair of channels; `weights`: [C, 3, 3, D]."""
    pairs = pairs_of(len(weights))
    padded = np.pad(weights.astype(np.int64), ((0, 0), (0, 0), (0, 0), (0, -weights.shape[3] % 4)))
    words = _as_they_are(padded[pairs]) if method.is_in_call else _halves(method.transform(padded)[pairs])
    bias = wrap_int32(short.bias * method.multiple)
    scales: Int64Array = np.stack((bias, short.multiplier, short.offset, short.shift), axis=1)[pairs]
    return np.concatenate((words, scales.reshape(len(pairs), -1)), axis=1).astype(np.int32).reshape(-1)


def _halves(transformed: Int64Array) -> Array:
    """Of filters [pair, 2, positions, sums, D] two elements a word."""
    pairs, _, positions = transformed.shape[:3]
    quads = transformed.reshape(pairs, 2, positions, -1, 2, 2)  # ..., quad, element / 2, element % 2
    halves = np.ascontiguousarray(quads.transpose(0, 2, 3, 5, 1, 4).astype("<i2"))  # of a word: element / 2
    words: Array = halves.reshape(pairs, -1).view("<i4")
    return words


def _as_they_are(filters: Int64Array) -> Array:
    """Of filters [pair, 2, 3, 3, D] four elements a word."""
    quads = filters.reshape(len(filters), 2, _PLACES, -1, 4)
    words: Array = np.ascontiguousarray(quads.transpose(0, 3, 2, 1, 4).astype(np.int8)).reshape(len(filters), -1)
    return words.view("<i4")


LOWERINGS: Lowerings = {Conv2D: lower_conv2d}
