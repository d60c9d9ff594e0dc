"""Transposed 2-D convolution."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from tinygen.ir.graph import Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_activations, check_dtype, check_filters, check_rank, check_shape
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import HW


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeConv2D(Weighted):
    """Transposed convolution: each input pixel adds its weighted filter to the output.

    Input pixel (y, x) reaches the outputs from (y * stride.h - top, x * stride.w - left) on; what falls outside of the
    output is dropped, outputs that nothing reaches hold the bias.
    """

    input: Tensor  # [N, H, W, C_IN]
    weights: Tensor  # [C_OUT, KH, KW, C_IN]
    output: Tensor  # [N, OH, OW, C_OUT]
    stride: HW
    top: int  # output rows dropped at the top
    left: int  # output columns dropped at the left

    @property
    def kernel(self) -> HW:
        """Size of the filters."""
        return HW(*self.weights.shape[1:3])

    @property
    def macs(self) -> int:
        batches, height, width, depth = self.input.shape
        _, out_height, out_width, channels = self.output.shape
        rows = _reached(height, self.kernel.h, self.stride.h, self.top, out_height)
        columns = _reached(width, self.kernel.w, self.stride.w, self.left, out_width)
        return batches * rows * columns * depth * channels

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_rank(role, tensor, 4)
            if tensor.type.elements == 0:
                raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, without any element")
        channels = self.weights.shape[0]
        check_activations(("input", self.input), ("output", self.output))
        check_filters(self.weights, self.bias, self.output, channels, axis=0)
        if self.output.type.dtype is DType.INT16:
            check_dtype("weights", self.weights, DType.INT8)
            self.output_stage.verify()
        check_shape("weights", self.weights, (*self.weights.shape[:3], self.input.shape[3]))
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], channels))
        if min(self.stride.h, self.stride.w) < 1 or min(self.top, self.left) < 0:
            raise ValueError(f"stride {self.stride} must be at least 1, padding {self.top}, {self.left} at least 0")
        self.clamp.verify(self.output.type)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        """Those that reach the outputs, and where none does the last one before them: `top` is never negative."""
        first, last = self.top + rows.first, self.top + rows.end - 1  # rows of the output before any was dropped
        height, stride = self.input.shape[1], self.stride.h
        begin = min(max(0, -((self.kernel.h - 1 - first) // stride)), first // stride, height - 1)
        return Rows(begin, min(last // stride, height - 1) + 1)

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        (operand,) = tile.operands
        top = self.top + rows.first - operand.rows.first * self.stride.h
        return replace(tile, op=replace(tile.op, top=top))  # type: ignore[call-arg]

    @property
    def tile_kind(self) -> Hashable:
        return self.top

    @property
    def working_elements(self) -> int:
        return prod(self._canvas)

    @property
    def _canvas(self) -> tuple[int, ...]:
        """Shape of what input pixels are scattered over: the output, and what is dropped of it."""
        batches, height, width, _ = self.input.shape
        _, out_height, out_width, _ = self.output.shape
        rows = max((height - 1) * self.stride.h + self.kernel.h, self.top + out_height)
        columns = max((width - 1) * self.stride.w + self.kernel.w, self.left + out_width)
        return batches, rows, columns, self.weights.shape[0]

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            real = values[self.input].astype(np.float32, copy=False)
            weights = values[self.weights].astype(np.float32, copy=False)
            sums = self._scattered(real.shape, lambda y, x: real @ weights[:, y, x, :].T)
            return (self.output_stage.finish_real(sums.astype(np.float32)),)
        image = values[self.input].astype(np.int64) - self.input.type.zero_point
        filters = values[self.weights]
        accumulators = self._scattered(image.shape, lambda y, x: exact_matmul(image, filters[:, y, x, :].T))
        return (self.output_stage.finish(accumulators.astype(np.int64)),)

    def _scattered(self, shape: tuple[int, ...], product: Callable[[int, int], Array]) -> npt.NDArray[np.float64]:
        """The output without bias: every input pixel times each tap of the filters, where it falls; exact to 2**53."""
        _, height, width, _ = shape
        _, out_height, out_width, _ = self.output.shape
        canvas = np.zeros(self._canvas, np.float64)
        for y, x in np.ndindex(self.kernel.h, self.kernel.w):
            reached = canvas[:, y :: self.stride.h, x :: self.stride.w][:, :height, :width]
            reached += product(y, x).astype(np.float64)
        return canvas[:, self.top : self.top + out_height, self.left : self.left + out_width]


def _reached(inputs: int, taps: int, stride: int, dropped: int, outputs: int) -> int:
    """Along one axis: pairs of an input and a tap of the filter that reach an output which is not dropped."""
    positions = (index * stride + tap - dropped for index in range(inputs) for tap in range(taps))
    return sum(0 <= position < outputs for position in positions)
