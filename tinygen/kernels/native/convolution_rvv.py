"""Convolutions of all kinds on RISC-V with vectors: 4 pixels at a time, lanes are channels of the output.

Fully connected layers are rows of pixels. What vectors cannot requantize the scalar kernels take.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowering, Lowerings, Table, Toolbox
from tinygen.kernels.native import depthwise, fully_connected, winograd
from tinygen.kernels.native.convolution import NativeConvolveS8
from tinygen.kernels.native.native import StreamForm
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.packing import packing
from tinygen.kernels.prices import faster_or_smaller
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import NO_PADDING, UNIT, Window
from tinygen.ops.windowed import Windowed

_PIXELS = 4  # of a block
_VECTOR_BYTES = 16  # of the core that prices were measured on; kernels run with any
_Kernels = tuple[Kernel, ...]
_MOVED = 8 * _VECTOR_BYTES  # at once, by copies


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeRvvConvolveS8(NativeConvolveS8):
    """tg_native_rvv_convolve_s8 and its like for 1x1 filters and for filters of one channel."""

    header: ClassVar[str] = "tg_native_rvv.h"

    elements: int  # of a filter

    @property
    def layout(self) -> str:
        """Of the stream."""
        return (
            "Biases, multipliers, offsets, shifts of all channels; filters as bytes [element][channel]. See "
            "tg_native_rvv.h."
        )

    @property
    def stream_form(self) -> StreamForm:
        channels = self.output_shape[3]
        return StreamForm(4 * channels, -(-channels * self.elements // 4), 0)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """block: of pixels; vector: channels of a block that are computed at once; step: an element of these; the same
        of `single` pixels, where there are fewer than 4. window, window_row, window_border: copied to scratch, those
        that are partly padding; copied: what vectors move at once."""
        batches, channels = self.input_shape[0], self.output_shape[3]
        pixels = Extent.of(op, rows, columns).pixels
        image = pixels if self._is_row else pixels / batches
        blocks = pixels / image * -(-image // _PIXELS)
        at_once, prefix = (_PIXELS, "") if image >= _PIXELS else (1, "single_")
        times, lanes = (blocks, _VECTOR_BYTES) if image >= _PIXELS else (pixels, 2 * _VECTOR_BYTES)
        vectors = times * -(-channels // lanes)
        terms = {f"{prefix}block": times, f"{prefix}vector": vectors, f"{prefix}step": vectors * self.elements}
        return work(self.function, call=1, **terms, **self._copies(op, times * at_once))

    @property
    def _is_row(self) -> bool:
        """Whether pixels are multiplied where they lie, those of all batches in a row."""
        return not self.scratch_bytes

    def _copies(self, op: Op, windows: float) -> dict[str, float]:
        if self._is_row:
            return {}
        assert isinstance(op, Windowed)
        lines, line_bytes = windows * self.window.kernel.h, self.window.kernel.w * self.input_shape[3]
        return {
            "window": windows,
            "window_row": lines,
            "window_border": windows * op.border_share,
            "copied": lines * -(-line_bytes // _MOVED),
        }


def _conv2d(op: Op) -> _Kernels:
    """None for dilation, groups or unusual scales."""
    assert isinstance(op, Conv2D)
    weights = op.weights.data
    if weights is None or op.dilation != UNIT or op.groups != 1:
        return ()
    is_1x1 = op.window.kernel == UNIT and op.stride == UNIT and op.padding == NO_PADDING
    name = "convolve_1x1" if is_1x1 else "convolve"
    return _kernel(op, name, weights.reshape(len(weights), -1), (op.input.shape, op.output.shape), op.window)


def _depthwise_conv2d(op: Op) -> _Kernels:
    """None for a multiplier, dilation or unusual scales."""
    assert isinstance(op, DepthwiseConv2D)
    weights = op.weights.data
    if weights is None or op.dilation != UNIT or op.multiplier != 1:
        return ()
    filters = weights.reshape(-1, op.output.shape[3]).T
    return _kernel(op, "depthwise", filters, (op.input.shape, op.output.shape), op.window)


def _fully_connected(op: Op) -> _Kernels:
    """None for variable weights or unusual scales."""
    assert isinstance(op, FullyConnected)
    weights = op.weights.data
    if weights is None:
        return ()
    units, features = weights.shape
    return _kernel(op, "convolve_1x1", weights, ((1, 1, op.rows, features), (1, 1, op.rows, units)), Window(UNIT))


def _beside(scalar: Callable[[Op, Toolbox], _Kernels], vectors: Callable[[Op], _Kernels]) -> Lowering:
    """Chooses among kernels of vectors, where there are any, and the scalar ones."""

    def lower(op: Op, toolbox: Toolbox) -> _Kernels:
        found = vectors(op)
        others = scalar(op, toolbox)
        return faster_or_smaller(op, (*found, *others), toolbox) if found else others

    return lower


def _kernel(
    op: Conv2D | DepthwiseConv2D | FullyConnected,
    name: str,
    filters: Array,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    window: Window,
) -> _Kernels:
    """The kernel for filters [channels, elements], of input and output with these shapes; none for unusual scales."""
    short = short_requantization(op.output_stage, filters.astype(np.int64))
    if short is None:
        return ()
    input_shape, output_shape = shapes
    window_bytes = window.kernel.h * window.kernel.w * input_shape[3]
    words = packing(
        ("tg_native_rvv", op.output_stage.key),
        4 * len(filters) + -(-filters.size // 4),
        lambda: _stream(filters, short),
    )
    return (
        NativeRvvConvolveS8(
            function=f"tg_native_rvv_{name}_s8",
            reads=(op.input,),
            writes=(op.output,),
            tables=(Table("vectors", words),),
            scratch_bytes=0 if name == "convolve_1x1" else _PIXELS * window_bytes,
            input_shape=input_shape,
            output_shape=output_shape,
            window=window,
            zero_point=op.input.type.zero_point,
            activation=op.clamp,
            quads=0,
            pair_words=0,
            parted=None,
            elements=filters.shape[1],
        ),
    )


def _stream(filters: Array, short: ShortRequantization) -> Array:
    """The words that the kernels read, of filters [channels, elements]."""
    bytes = np.pad(filters.T.astype(np.int8).reshape(-1), (0, -filters.size % 4))
    return np.concatenate((short.bias, *short.scale, bytes.view("<i4"))).astype(np.int32)


LOWERINGS: Lowerings = {
    Conv2D: _beside(winograd.lower_conv2d, _conv2d),
    DepthwiseConv2D: _beside(depthwise.lower_depthwise_conv2d, _depthwise_conv2d),
    FullyConnected: _beside(fully_connected.lower_fully_connected, _fully_connected),
}
