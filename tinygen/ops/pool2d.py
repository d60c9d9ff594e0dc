"""Average and max pooling."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.types import Array
from tinygen.ops.checks import check_same_quantization
from tinygen.ops.window import HW, Window
from tinygen.ops.windowed import Windowed


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pool2D(Windowed):
    """Pooling over a window; padding never counts; input and output have the same quantization and channels."""

    kernel: HW

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, padding=self.padding)

    @property
    def channels(self) -> int:
        return self.input.shape[3]

    def verify(self) -> None:
        check_same_quantization(self.input, self.output)
        super().verify()
        pad = self.padding
        if max(pad.top, pad.bottom) >= self.kernel.h or max(pad.left, pad.right) >= self.kernel.w:
            raise ValueError(f"padding {pad} leaves windows without any input")


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
