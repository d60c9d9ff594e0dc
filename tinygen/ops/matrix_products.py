"""What products of matrices share, batch by batch: how their operands lie."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range, Summation
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_shape


@dataclass(frozen=True)
class Batches:
    """Neighbouring batch axes along which the same operands advance; the others repeat."""

    count: int
    first_advances: bool
    second_advances: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixProducts(Op):
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
    def summation(self) -> Summation:
        return Summation(self.depth, are_products=True)

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.depth

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("first", self.first), ("second", self.second), ("output", self.output)):
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

    def arranged(self, first: Array, second: Array) -> tuple[Array, Array]:
        """The operands' values as [..., M, K] and [..., K, N]."""
        return (
            first.swapaxes(-1, -2) if self.transpose_first else first,
            second.swapaxes(-1, -2) if self.transpose_second else second,
        )
