"""Convolutions as matrix products of 4 pixels with pairs of channels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Table
from tinygen.kernels.native import twins
from tinygen.kernels.native.fully_connected import product_with_rows
from tinygen.kernels.native.joining import can_join, join
from tinygen.kernels.native.linear import LinearRequantization, linear_requantization
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.packing import packing
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import HW, NO_PADDING, UNIT, Window
from tinygen.ops.windowed import Windowed
from tinygen.targets.isa import Isa

_PIXELS = 4  # of a block
_BESIDE_BLOCKS = (0, 1, 2, 1)  # pixels that are computed one by one, or to fill a block
_SHALLOW = 4  # channels of the input: first layers
_OF_FIRST_LAYERS = "_shallow"
_FEWEST_JOINED = 16  # elements of a filter: each two save an instruction, parting the sums takes up to 8


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeConvolveS8(NativeKernel):
    """tg_native_convolve_s8 and its variants for 1x1 filters and for clamps that hide negative values."""

    template: ClassVar[str] = "native_convolve_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: Window
    zero_point: int
    activation: Clamp
    quads: int
    pair_words: int  # of the stream, where it is one of pairs
    parted: float | None  # of products of two pixels at once: the share that is parted two by two

    @property
    def has_blocks(self) -> bool:
        """Whether an image has as many outputs as a block."""
        return self.output_shape[1] * self.output_shape[2] >= _PIXELS

    @property
    def layout(self) -> str:
        """Of the stream."""
        if "_twin8" in self.function:
            return (
                "For each 8 channels: their weights, 8 bytes for each element; bias, bits, multiplier, offset and, "
                "where it is not the same for all, shift of each. See tg_native_gemm_twin8.h."
            )
        if self.pair_words == 0:
            return (
                "For each pair of channels: transformed 3x3 filters, a word of each channel for two inputs of each; "
                "bias, multiplier, offset, shift of each. See tg_native_winograd.h."
            )
        return (
            "For each pair of channels: two biases; filters, two words for each 4 elements"
            f"{', a word of bits before 32 of these' * ('_twin' in self.function)}; multiplier, offset and, "
            "where it is not the same for all, shift of each. See tg_native_gemm.h."
        )

    @property
    def stream_form(self) -> StreamForm | None:
        if self.pair_words == 0 or self.parted is not None:
            return None
        weights = 2 * self.quads
        return StreamForm(2, weights, self.pair_words - 2 - weights, is_joined="_joined" in self.function)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        assert isinstance(op, Windowed)
        return direct_work(self.function, op, rows, columns, self.parted)


def direct_work(function: str, op: Windowed, rows: int | None, columns: int | None, parted: float | None) -> Work:
    """Windows are packed as whole words, on their own or side by side, and multiplied in blocks of pixels."""
    batches, all_rows, all_columns, channels = op.output.shape
    lines = batches * (all_rows if rows is None else rows)
    pixels = lines * (all_columns if columns is None else columns)
    kernel, depth = op.window.kernel, op.input.shape[3]
    elements = _whole_words(kernel.h * kernel.w * depth)
    overlap = kernel.w == 3 and op.stride.w == 1 and depth % 8 == 0
    beside = _BESIDE_BLOCKS[pixels % _PIXELS] if parted is None else -pixels % _PIXELS
    outputs, left_over = pixels * channels, channels * beside
    return work(
        function,
        call=1,
        weight=channels * elements,
        pixel=pixels,
        line=lines * kernel.h,
        tap=pixels * kernel.h,
        operand=0 if overlap else pixels * elements,
        output=outputs,
        mac=outputs * elements,
        shared=pixels * elements if overlap else 0,
        border=pixels * kernel.h * op.border_share,
        tail_output=left_over,
        tail_mac=left_over * elements,
        clamped=clamped(op, rows, columns),
        **({} if parted is None else {"part": outputs * elements * parted}),
    )


def direct_convolution(op: Conv2D, isa: Isa, may_twin: bool = True) -> NativeKernel | None:
    """The native kernel for `op`, None where there is none: dilation, groups, one channel, unusual scales.

    Without `may_twin` one that takes pixels one by one, whose weights stand in the stream as they are.
    """
    weights = op.weights.data
    if weights is None or op.dilation != UNIT or op.groups != 1 or len(weights) < 2:
        return None
    if _is_product(op):
        product = product_with_rows(op, weights.reshape(len(weights), -1), _pixels(op), isa)
        if product is not None:
            return product
    short = short_requantization(op.output_stage, weights.reshape(len(weights), -1).astype(np.int64))
    if short is None:
        return None
    linear = linear_requantization(op.output_stage, short)
    requantization = linear or short
    elements, pairs = _column_elements(op), pairs_of(len(weights))
    is_twin = may_twin and twins.gains(isa, len(weights), elements) and _pixels(op) >= _PIXELS * op.output.shape[0]
    is_twin = is_twin and twins.can_twin(columns_of(weights))
    gains = isa.runs_dsp_kernels and elements >= _FEWEST_JOINED and not is_twin
    is_joined = gains and can_join(weights.reshape(len(weights), -1), short, requantization, pairs)
    pair_words = 2 + elements // 2 + is_twin * twins.bit_words(elements) + 2 * len(requantization.scale)
    words = packing(
        ("tg_native_gemm", op.output_stage.key, is_joined, is_twin),
        len(pairs) * pair_words,
        lambda: stream(columns_of(weights), requantization, is_joined, is_twin).reshape(-1),
    )
    further = _band_bytes(op) if form_of(op) == _OF_FIRST_LAYERS else _line_bytes(op)
    form = f"{form_of(op)}{'_joined' * is_joined}{'_twin' * is_twin}{'_relu' if linear else ''}"
    return NativeConvolveS8(
        function=f"tg_native_convolve{form}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("twins" if is_twin else "stream", words),),  # tiles of one operator may differ in this
        scratch_bytes=2 * _PIXELS * elements + further,
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
        quads=elements // 4,
        pair_words=pair_words,
        parted=twins.parted_share(columns_of(weights), pairs) if is_twin else None,
    )


def without_twins(op: Op, isa: Isa) -> tuple[NativeKernel, ...]:
    """The native kernel that takes pixels one by one, in whose stream weights stand as they are.

    None for other operators than convolutions, and where there is no native kernel.
    """
    direct = direct_convolution(op, isa, may_twin=False) if isinstance(op, Conv2D) else None
    return () if direct is None else (direct,)


def _is_product(op: Conv2D) -> bool:
    """Whether filters lie over whole pixels or a whole image, and are so few that a block would be half empty."""
    kernel, (_, height, width, _) = op.window.kernel, op.input.shape
    is_plain = op.padding == NO_PADDING and (op.stride == UNIT or _pixels(op) == op.input.shape[0])
    return is_plain and (kernel == UNIT or kernel == HW(height, width)) and _pixels(op) <= _PIXELS // 2


def _pixels(op: Conv2D) -> int:
    batches, rows, columns, _ = op.output.shape
    return batches * rows * columns


def form_of(op: Conv2D) -> str:
    """How functions are named by what packs their columns."""
    if op.input.shape[3] <= _SHALLOW and op.window.kernel != UNIT:
        return _OF_FIRST_LAYERS
    is_1x1 = op.window.kernel == UNIT and op.stride == UNIT and op.padding == NO_PADDING
    return "_1x1" if is_1x1 else ""


def _line_bytes(op: Conv2D) -> int:
    """A row of the filter, where some lie partly beside the input."""
    _, _, width, depth = op.weights.shape
    return _whole_words(width * depth) if depth % 4 and (op.padding.left or op.padding.right) else 0


def _band_bytes(op: Conv2D) -> int:
    """The rows under one row of outputs, behind a word to say which; up to 3 bytes more of each may be read."""
    columns = (op.output.shape[2] - 1) * op.stride.w + op.window.kernel.w
    return 4 + op.window.kernel.h * _whole_words(columns * op.input.shape[3] + 3)


def _whole_words(bytes: int) -> int:
    return -(-bytes // 4) * 4


def _column_elements(op: Conv2D) -> int:
    """Of a filter in the order of packing."""
    _, height, width, depth = op.weights.shape
    left = width * depth % 4
    return _whole_words(height * (width * depth - left + (4 if left == 3 else left)))


def columns_of(weights: Array) -> Array:
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


def stream(
    columns: Array, requantization: ShortRequantization | LinearRequantization, is_joined: bool, is_twin: bool
) -> Array:
    """The words that tg_native_gemm reads, [pair of channels, word]."""
    pairs = pairs_of(len(columns))
    weights, bias = columns[pairs], requantization.bias[pairs]
    if is_joined:
        weights, bias = join(weights, bias)
    quads = weights.reshape(len(pairs), 2, -1, 2, 2)  # pair, channel, quad, element / 2, element % 2
    bytes = np.ascontiguousarray(quads.transpose(0, 2, 4, 3, 1))  # of a word: element / 2, channel
    words = bytes.reshape(len(pairs), -1).view("<i4")
    if is_twin:
        words = twins.with_bits(words, columns, pairs)
    scales = np.stack(requantization.scale, axis=1)[pairs]
    parts = (bias, words, scales.reshape(len(pairs), -1))
    return np.concatenate(parts, axis=1).astype(np.int32)


def pairs_of(channels: int) -> Int64Array:
    """Channels two by two; of an odd number the second one stands in two pairs."""
    odd = [[0, 1]] if channels % 2 else []
    even = [[first, first + 1] for first in range(channels % 2, channels, 2)]
    return np.array(odd + even, np.int64)
