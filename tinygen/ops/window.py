"""Sliding windows of convolutions and pools: stride, dilation, padding, and the output size they give."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from tinygen.ir.rows import Columns, Rows
from tinygen.ir.types import Array, Float32Array


@dataclass(frozen=True)
class HW:
    """Two numbers, along height and width."""

    h: int
    w: int

    def __str__(self) -> str:
        return f"{self.h}x{self.w}"

    @property
    def swapped(self) -> "HW":
        """Height and width exchanged."""
        return HW(self.w, self.h)


@dataclass(frozen=True)
class Padding:
    """Rows and columns around the input; never negative."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def swapped(self) -> "Padding":
        """Rows and columns exchanged."""
        return Padding(self.left, self.right, self.top, self.bottom)


NO_PADDING = Padding(0, 0, 0, 0)
UNIT = HW(1, 1)


class PaddingMode(Enum):
    """Padding rules of TFLite and ONNX exporters."""

    SAME = "same"
    VALID = "valid"


@dataclass(frozen=True)
class Window:
    """How a kernel moves over an input."""

    kernel: HW
    stride: HW = UNIT
    dilation: HW = UNIT
    padding: Padding = NO_PADDING

    @cached_property
    def extent(self) -> HW:
        """Rows and columns that one position covers."""
        return HW(
            (self.kernel.h - 1) * self.dilation.h + 1,
            (self.kernel.w - 1) * self.dilation.w + 1,
        )

    def output_size(self, height: int, width: int) -> HW:
        """Positions along height and width of an input of that size."""
        pad = self.padding
        return HW(
            (height + pad.top + pad.bottom - self.extent.h) // self.stride.h + 1,
            (width + pad.left + pad.right - self.extent.w) // self.stride.w + 1,
        )

    def rows_needed(self, rows: Rows, height: int) -> Rows | None:
        """Rows of an input of `height` rows under the given output rows; None where they lie in the padding alone."""
        first = max(0, rows.first * self.stride.h - self.padding.top)
        end = min(height, (rows.end - 1) * self.stride.h - self.padding.top + self.extent.h)
        return Rows(first, end) if first < end else None

    def padding_of(self, rows: Rows, height: int) -> Padding:
        """What is left of the padding around the rows that `rows_needed` gives."""
        top = max(0, self.padding.top - rows.first * self.stride.h)
        bottom = max(0, (rows.end - 1) * self.stride.h - self.padding.top + self.extent.h - height)
        return replace(self.padding, top=top, bottom=bottom)

    def columns_needed(self, columns: Columns, width: int) -> Columns | None:
        """Columns of an input of `width` under the given output columns; None where they lie in the padding alone."""
        first = max(0, columns.first * self.stride.w - self.padding.left)
        end = min(width, (columns.end - 1) * self.stride.w - self.padding.left + self.extent.w)
        return Columns(first, end) if first < end else None

    def padding_beside(self, columns: Columns, width: int) -> Padding:
        """What is left of the padding around the columns that `columns_needed` gives."""
        left = max(0, self.padding.left - columns.first * self.stride.w)
        right = max(0, (columns.end - 1) * self.stride.w - self.padding.left + self.extent.w - width)
        return replace(self.padding, left=left, right=right)

    def patch_elements(self, input: tuple[int, ...]) -> int:
        """Those of `patches`, or of the input with its padding where these are more."""
        pad, size = self.padding, self.output_size(input[1], input[2])
        padded = (pad.top + input[1] + pad.bottom) * (pad.left + input[2] + pad.right)
        return input[0] * input[3] * max(size.h * size.w * self.kernel.h * self.kernel.w, padded)

    def patches(self, input: Array, fill: float) -> Array:
        """All positions of an NHWC input, shape [N, OH, OW, KH, KW, C]; outside the input stands `fill`."""
        pad = self.padding
        padded = np.pad(input, ((0, 0), (pad.top, pad.bottom), (pad.left, pad.right), (0, 0)), constant_values=fill)
        view = np.lib.stride_tricks.sliding_window_view(padded, (self.extent.h, self.extent.w), axis=(1, 2))
        strided = view[:, :: self.stride.h, :: self.stride.w, :, :: self.dilation.h, :: self.dilation.w]
        return strided.transpose(0, 1, 2, 4, 5, 3)

    def taps(self, input: Float32Array, output: tuple[int, ...]) -> Iterator[tuple[HW, Float32Array]]:
        """Each position within the kernel, and the pixels of an NHWC input under it for all outputs; 0 outside."""
        pad = self.padding
        padded = np.pad(input, ((0, 0), (pad.top, pad.bottom), (pad.left, pad.right), (0, 0)))
        height, width = ((size - 1) * step + 1 for size, step in zip(output[1:3], _pair(self.stride), strict=True))
        for row, column in np.ndindex(_pair(self.kernel)):
            top, left = row * self.dilation.h, column * self.dilation.w
            part = padded[:, top : top + height : self.stride.h, left : left + width : self.stride.w]
            yield HW(row, column), part

    def verify(self, input: tuple[int, ...], output: tuple[int, ...]) -> None:
        """Raise ValueError unless NHWC shapes agree with the window."""
        numbers = (*_pair(self.kernel), *_pair(self.stride), *_pair(self.dilation))
        if min(numbers) < 1:
            raise ValueError(f"kernel, stride and dilation {numbers} must be at least 1")
        if min(self.padding.top, self.padding.bottom, self.padding.left, self.padding.right) < 0:
            raise ValueError(f"padding {self.padding} must not be negative")
        if len(input) != 4 or len(output) != 4:
            raise ValueError(f"input {list(input)} and output {list(output)} must be NHWC, 4 dimensions each")
        size = self.output_size(input[1], input[2])
        if (size.h, size.w) != output[1:3] or min(size.h, size.w) < 1:
            raise ValueError(
                f"a {self.kernel.h}x{self.kernel.w} window over {input[1]}x{input[2]} gives {size.h}x{size.w}, "
                f"the output is {output[1]}x{output[2]}"
            )


def padding_for(mode: PaddingMode, size: HW, kernel: HW, stride: HW, dilation: HW) -> Padding:
    """The padding of a mode; SAME puts the odd row or column at the bottom and right, as TFLite does."""
    if mode is PaddingMode.VALID:
        return NO_PADDING
    top, bottom = _same(size.h, kernel.h, stride.h, dilation.h)
    left, right = _same(size.w, kernel.w, stride.w, dilation.w)
    return Padding(top, bottom, left, right)


def starts_inside(positions: int, stride: int, before: int, last: int) -> int:
    """Positions along one axis that start between 0 and `last`; the first one starts `before` elements outside."""
    return sum(0 <= position * stride - before <= last for position in range(positions))


def _same(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    positions = -(-size // stride)
    total = max(0, (positions - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return total // 2, total - total // 2


def _pair(hw: HW) -> tuple[int, int]:
    return hw.h, hw.w
