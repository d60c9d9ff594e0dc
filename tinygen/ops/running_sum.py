"""Averages over all rows of an input, computed as the rows come: int32 sums, finished once.

A pool or a mean that covers its whole input needs all of it for one output. Adding up row by row needs four bytes per
channel instead, and the sums are the same integers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.reduction import Mean
from tinygen.ops.requantize import Int64Array, Multiplier, requantize, wrap_int32
from tinygen.ops.window import HW, NO_PADDING


@dataclass(frozen=True, eq=False, kw_only=True)
class SumRows(Op):
    """output = before + the sum of all pixels of `input`, per channel; without `before` the sum starts at 0."""

    input: Tensor  # [1, H, W, C], int8
    before: Tensor | None  # [1, 1, 1, C], int32
    output: Tensor  # [1, 1, 1, C], int32

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8)
        check_dtype("output", self.output, DType.INT32)
        check_shape("output", self.output, (1, 1, 1, self.input.shape[-1]))
        if self.before is not None:
            check_shape("before", self.before, self.output.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        total = values[self.input].astype(np.int64).sum(axis=(1, 2), keepdims=True)
        if self.before is not None:
            total = total + values[self.before]
        return (total.astype(np.int32),)


@dataclass(frozen=True, eq=False, kw_only=True)
class DivideSums(Op):
    """Sums divided by the number of pixels, halves away from zero: what average pooling does."""

    input: Tensor  # [1, 1, 1, C], int32
    output: Tensor  # as many elements, int8
    count: int
    clamp: Clamp

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        sums, half = values[self.input].astype(np.int64), self.count // 2
        means = np.where(sums > 0, (sums + half) // self.count, -((half - sums) // self.count))
        return (self.clamp.apply(means).astype(np.int8).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleSums(Op):
    """Sums plus an offset, requantized: what a mean does."""

    input: Tensor  # [1, 1, 1, C], int32
    output: Tensor  # as many elements, int8
    offset: int
    scaling: Multiplier

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        sums: Int64Array = wrap_int32(values[self.input].astype(np.int64) + self.offset)
        stored = requantize(sums, self.scaling.multiplier, self.scaling.shift) + self.output.type.zero_point
        return (np.clip(stored, -128, 127).astype(np.int8).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False)
class RunningSum:
    """How an operator over all rows of its input is computed as they come."""

    input: Tensor
    sums: Tensor
    finish: Op
    _add: Callable[[Tensor, Tensor | None, Tensor], SumRows]

    def add(self, rows: Tensor, before: Tensor | None, after: Tensor) -> SumRows:
        """Add rows of the input to the sums; `before` is None for the first ones."""
        return self._add(rows, before, after)


def running_sum(op: Op) -> RunningSum | None:
    """The running sum that computes `op`; None for operators that are not an average over whole rows."""
    if not isinstance(op, (AveragePool2D, Mean)) or len(op.input.shape) != 4 or op.input.shape[0] != 1:
        return None
    _, height, width, channels = op.input.shape
    sums = Tensor(f"{op.name}:sums", TensorType(DType.INT32, (1, 1, 1, channels)))
    finish: Op
    if isinstance(op, AveragePool2D):
        if op.kernel != HW(height, width) or op.padding != NO_PADDING:
            return None
        finish = DivideSums(
            name=op.name, source=op.source, input=sums, output=op.output, count=height * width, clamp=op.clamp
        )
    else:
        if op.axes != (1, 2):
            return None
        offset = -op.input.type.zero_point * op.count
        finish = ScaleSums(
            name=op.name, source=op.source, input=sums, output=op.output, offset=offset, scaling=op.scaling
        )

    def add(rows: Tensor, before: Tensor | None, after: Tensor) -> SumRows:
        return SumRows(name=f"{op.name}:{rows.name}", source=op.source, input=rows, before=before, output=after)

    return RunningSum(op.input, sums, finish, add)
