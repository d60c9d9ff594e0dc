"""Average and max pooling."""

from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_same_quantization, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW, Padding, Window


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pool2D(Op):
    """Pooling over a window; padding never counts; input and output have the same quantization."""

    input: Tensor  # [N, H, W, C]
    output: Tensor  # [N, OH, OW, C]
    kernel: HW
    stride: HW
    padding: Padding
    clamp: Clamp

    @property
    def window(self) -> Window:
        """How the kernel moves over the input."""
        return Window(self.kernel, self.stride, padding=self.padding)

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8)
        check_per_tensor("input", self.input)
        check_same_quantization(self.input, self.output)
        self.window.verify(self.input.shape, self.output.shape)
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], self.input.shape[3]))
        pad = self.padding
        if max(pad.top, pad.bottom) >= self.kernel.h or max(pad.left, pad.right) >= self.kernel.w:
            raise ValueError(f"padding {pad} leaves windows without any input")
        self.clamp.verify(self.output.type)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return self.window.rows_needed(rows, self.input.shape[1])

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        padding = self.window.padding_of(rows, self.input.shape[1])
        return replace(tile, op=replace(tile.op, padding=padding))  # type: ignore[call-arg]


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool2D(_Pool2D):
    """Mean of the window, rounded to nearest, halves away from zero."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        input = values[self.input]
        sums = self.window.patches(input, 0).astype(np.int64).sum(axis=(3, 4))
        counts = self.window.patches(np.ones_like(input), 0).astype(np.int64).sum(axis=(3, 4))
        half = counts // 2
        means = np.where(sums > 0, (sums + half) // counts, -((half - sums) // counts))
        return (self.clamp.apply(means).astype(input.dtype),)


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool2D(_Pool2D):
    """Largest value of the window."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        input = values[self.input]
        largest = self.window.patches(input, self.input.type.dtype.min).max(axis=(3, 4))
        return (self.clamp.apply(largest.astype(np.int64)).astype(input.dtype),)
