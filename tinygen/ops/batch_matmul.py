"""Products of matrices, batch by batch."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_numbers, check_shape
from tinygen.ops.precision import ACCUMULATOR, offsets, requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize, wrap_int32


@dataclass(frozen=True)
class Batches:
    """Neighbouring batch axes along which the same operands advance; the others repeat."""

    count: int
    first_advances: bool
    second_advances: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchMatMul(Op):
    """output[..., i, j] = sum over k of first[..., i, k] * second[..., k, j]; batch axes broadcast as in numpy."""

    result_range: ClassVar[Range] = Range.OWN

    first: Tensor  # [..., M, K], or [..., K, M] where `transpose_first`
    second: Tensor  # [..., K, N], or [..., N, K] where `transpose_second`
    output: Tensor  # [..., M, N]
    transpose_first: bool
    transpose_second: bool

    @property
    def rows(self) -> int:
        """M."""
        return self.first.shape[-1 if self.transpose_first else -2]

    @property
    def depth(self) -> int:
        """K."""
        return self.first.shape[-2 if self.transpose_first else -1]

    @property
    def columns(self) -> int:
        """N."""
        return self.second.shape[-2 if self.transpose_second else -1]

    @property
    def batches(self) -> tuple[Batches, ...]:
        """The batch axes, outermost first, merged; without those of size 1."""
        rank = len(self.output.shape)
        first, second = ((1,) * (rank - len(t.shape)) + t.shape[:-2] for t in (self.first, self.second))
        merged: list[Batches] = []
        for axis in (Batches(max(f, s), f > 1, s > 1) for f, s in zip(first, second, strict=True)):
            if merged and replace(axis, count=1) == replace(merged[-1], count=1):
                merged[-1] = replace(axis, count=axis.count * merged[-1].count)
            elif axis.count > 1:
                merged.append(axis)
        return tuple(merged)

    @property
    def scaling(self) -> Multiplier:
        """From accumulators to the output."""
        return quantize_multiplier(self.first.type.scale * self.second.type.scale / self.output.type.scale)

    @property
    def summation(self) -> Summation:
        return Summation(self.depth, are_products=True)

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.depth

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.first, self.second), ACCUMULATOR, *requantized(self.output))

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        operands = (("first", self.first), ("second", self.second), ("output", self.output))
        check_numbers(*operands)
        for role, tensor in operands:
            if len(tensor.shape) < 2 or tensor.type.elements == 0:
                raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, matrices were expected")
        second_depth = self.second.shape[-1 if self.transpose_second else -2]
        if second_depth != self.depth:
            raise ValueError(
                f"rows of {self.depth} elements and columns of {second_depth} elements, equal sizes were expected"
            )
        batches = np.broadcast_shapes(self.first.shape[:-2], self.second.shape[:-2])
        check_shape("output", self.output, (*batches, self.rows, self.columns))
        if len(self.batches) > 2:
            raise ValueError(
                f"operands of {list(self.first.shape)} and {list(self.second.shape)} repeat along batch axes by turns, "
                "two groups of such axes at most were expected"
            )

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        """Rows are matrices."""
        if any(tensor.is_constant and len(tensor.shape) == 4 for tensor in (self.first, self.second)):
            return None  # every row may have constants of its own
        height = operand.shape[1]
        return rows if height == self.output.shape[1] else Rows(0, height)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        first, second = values[self.first], values[self.second]
        if self.transpose_first:
            first = first.swapaxes(-1, -2)
        if self.transpose_second:
            second = second.swapaxes(-1, -2)
        if self.output.type.dtype.is_real:
            return (np.matmul(first, second),)
        return (self._requantized(exact_matmul(_centered(first, self.first), _centered(second, self.second))),)

    def _requantized(self, sums: Int64Array) -> Array:
        accumulators = wrap_int32(sums)
        scaling = self.scaling
        stored = requantize(accumulators, scaling.multiplier, scaling.shift) + self.output.type.zero_point
        return np.clip(stored, -128, 127).astype(np.int8)


def _centered(stored: Array, tensor: Tensor) -> Int64Array:
    return stored.astype(np.int64) - tensor.type.zero_point
