"""Convolutions on cores with MVE: products of 2 pixels with 4 channels, 16 elements at once."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.requantization_mve import VectorRequantization, vector_requantization
from tinygen.kernels.packing import Packing, packing
from tinygen.kernels.prices import prices
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.window import NO_PADDING, UNIT, Window
from tinygen.ops.windowed import Windowed

_LANES = 16
_CHANNELS = 4  # of a piece
_SCRATCH_BYTES = 2048  # for windows, unless 2 take more


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveConvolveS8(NativeKernel):
    """tg_native_mve_convolve_1x1_s8 and its variant for clamps that hide negative values: pixels where they lie."""

    template: ClassVar[str] = "native_mve_convolve_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native_mve.h"
    takes_scratch: ClassVar[bool] = True

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: Window
    zero_point: int
    output_zero_point: int
    activation: Clamp
    pixels_at_once: int

    @property
    def layout(self) -> str:
        """Of the stream."""
        return (
            "For each 4 channels: 64 bytes of filters for each 16 elements; biases, multipliers, shifts. See "
            "tg_native_mve_gemm.h."
        )

    @property
    def elements(self) -> int:
        """Of a filter."""
        return self.window.kernel.h * self.window.kernel.w * self.input_shape[3]

    @property
    def stream_form(self) -> StreamForm:
        return form_of_pieces(self.elements, _CHANNELS)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """`products` of all pixels."""
        batches, height, width, channels = self.output_shape
        pixels = batches * (height if rows is None else rows) * width
        done = work(
            self.function,
            call=1,
            **products(channels, self.elements, (1, pixels)),
            clamped=clamped(op, rows),
        )
        return done if columns is None else done.part(columns / width)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveWindowsS8(NativeMveConvolveS8):
    """tg_native_mve_convolve_s8 and its variant: windows are copied to scratch, some at a time."""

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """window: copied to scratch; window_border: one that is partly padding; copied: 16 bytes of its rows."""
        assert isinstance(op, Windowed)
        batches, height, width, channels = self.output_shape
        windows = batches * (height if rows is None else rows) * width
        together = max(2, min(self.pixels_at_once, windows + 1) // 2 * 2)
        kernel = self.window.kernel
        done = work(
            self.function,
            call=1,
            window=windows,
            window_border=windows * op.border_share,
            copied=windows * kernel.h * _vectors(kernel.w * self.input_shape[3]),
            **products(channels, self.elements, (windows // together, together), (1, windows % together)),
            clamped=clamped(op, rows),
        )
        return done if columns is None else done.part(columns / width)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveStripsS8(NativeMveConvolveS8):
    """tg_native_mve_convolve_strips_s8 and its variant: rows are copied column by column, so that windows overlap."""

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """strip_row, strip_pixel: of the input, copied for a row of the result; copied: 16 bytes of them."""
        batches, height, width, channels = self.output_shape
        lines, kernel = batches * (height if rows is None else rows), self.window.kernel
        pixels = lines * kernel.h * ((width - 1) * self.window.stride.w + kernel.w)
        done = work(
            self.function,
            call=1,
            strip_row=lines * kernel.h,
            strip_pixel=pixels,
            copied=pixels * _vectors(self.input_shape[3]),
            **products(channels, self.elements, (lines, width)),
            clamped=clamped(op, rows),
        )
        return done if columns is None else done.part(columns / width)


def products(channels: int, elements: int, *calls: tuple[int, int]) -> dict[str, float]:
    """Terms of the matrix product of pixels, two at a time, with four channels each; `calls`: how many of how many
    pixels.

    product: a call of it; pair: of pixels; four: channels of a pair; deep: those of filters of more than 16 elements;
    step: 16 elements of these; round: 4 steps.
    """
    pairs = sum(times * -(-pixels // 2) for times, pixels in calls)
    fours, steps = pairs * -(-channels // 4), -(-elements // _LANES)
    return {
        "product": sum(times * ((pixels > 1) + pixels % 2) for times, pixels in calls),
        "pair": pairs,
        "four": fours,
        "deep": fours * (steps > 1),
        "step": fours * steps,
        "round": fours * -(-(steps - 1) // 4),
    }


def _vectors(bytes: int) -> int:
    """That a row of a window or a pixel takes, besides what is counted for itself."""
    return 0 if bytes <= _LANES else -(-bytes // _LANES)


def lower_conv2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels for `op`, the fastest first; none with dilation, groups or unusual scales."""
    assert isinstance(op, Conv2D)
    weights = op.weights.data
    if weights is None or op.dilation != UNIT or op.groups != 1:
        return ()
    by_rows = _scales(op, weights)
    if by_rows is None:
        return ()
    if op.window.kernel == UNIT and op.stride == UNIT and op.padding == NO_PADDING:
        return (_kernel(op, NativeMveConvolveS8, by_rows, "_1x1", "rows", 0, 0),)
    windows = tuple(
        _kernel(op, NativeMveWindowsS8, by_rows, "", "rows", min(pixels, _pixels(op)) * _window_bytes(op), pixels)
        for pixels in _pixels_at_once(op)
    )
    by_columns = _scales(op, weights.transpose(0, 2, 1, 3))
    if by_columns is None:
        return windows
    strips = _kernel(op, NativeMveStripsS8, by_columns, "_strips", "columns", _strip_bytes(op), 0)
    price = prices(toolbox).instructions
    if price(strips.work(op)) > price(windows[0].work(op)):
        return windows
    return (strips, *(kernel for kernel in windows if kernel.scratch_bytes < strips.scratch_bytes))


def _scales(op: Conv2D, filters: Array) -> VectorRequantization | None:
    return vector_requantization(op.output_stage, filters.reshape(len(filters), -1).astype(np.int64))


def _pixels(op: Conv2D) -> int:
    return op.output.shape[1] * op.output.shape[2]


def _window_bytes(op: Conv2D) -> int:
    return op.weights.type.elements // op.weights.shape[0]


def _strip_bytes(op: Conv2D) -> int:
    columns = (op.output.shape[2] - 1) * op.stride.w + op.window.kernel.w
    return columns * op.window.kernel.h * op.input.shape[3]


def _pixels_at_once(op: Conv2D) -> tuple[int, ...]:
    """Numbers of windows that lie in scratch together: as many as are useful, and the fewest."""
    useful = min(_SCRATCH_BYTES // _window_bytes(op), _pixels(op) + 1) // 2 * 2
    return (useful, 2) if useful > 2 else (2,)


def _kernel(
    op: Conv2D,
    kind: type[NativeMveConvolveS8],
    scales: VectorRequantization,
    way: str,
    order: str,
    scratch_bytes: int,
    pixels_at_once: int,
) -> Kernel:
    """`order`: of filters in the stream; tiles of one operator may differ in it, so the tables have different names."""
    return kind(
        function=f"tg_native_mve_convolve{way}{'_relu' if scales.is_relu else ''}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table(order, gemm_words(scales, (order, op.output_stage.key))),),
        scratch_bytes=scratch_bytes,
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        zero_point=op.input.type.zero_point,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
        pixels_at_once=pixels_at_once,
    )


def gemm_words(scales: VectorRequantization, key: Hashable) -> Packing:
    """The words that tg_native_mve_gemm reads; `key`: of the layer, and of the order of its filters."""
    return packing(("tg_native_mve_gemm", key), piece_words(scales, _CHANNELS), lambda: stream(scales))


def piece_words(scales: VectorRequantization, at_once: int) -> int:
    """How many `pieces` are: of each channel vectors of elements, and three constants."""
    return -(-len(scales.weights) // at_once) * form_of_pieces(scales.weights.shape[1], at_once).words


def form_of_pieces(elements: int, at_once: int) -> StreamForm:
    """Of `pieces` of filters of so many elements."""
    return StreamForm(0, at_once * -(-elements // _LANES) * _LANES // 4, 3 * at_once)


def stream(scales: VectorRequantization) -> Array:
    """The words that tg_native_mve_gemm reads: a piece for each 4 channels."""
    return pieces(scales.weights, scales.scales, _CHANNELS)


def pieces(weights: Array, scales: Array, at_once: int) -> Array:
    """Words for each `at_once` channels: vectors of 16 elements of each in turn, then `scales` [channels, 3].

    The first vector ends with the elements that are left over; channels of zeros fill the last piece.
    """
    channels, elements = weights.shape
    missing = -channels % at_once
    padded = np.pad(weights, ((0, missing), (-elements % _LANES, 0))).astype(np.int8)
    count = len(padded) // at_once
    vectors = padded.reshape(count, at_once, -1, _LANES).transpose(0, 2, 1, 3)
    words = np.ascontiguousarray(vectors).reshape(count, -1).view("<i4")
    constants = np.pad(scales, ((0, missing), (0, 0))).reshape(count, at_once, 3).transpose(0, 2, 1).reshape(count, -1)
    return np.concatenate((words, constants), axis=1).astype(np.int32).reshape(-1)


LOWERINGS: Lowerings = {Conv2D: lower_conv2d}
