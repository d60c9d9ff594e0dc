"""Slices: a box of elements, with strides that may be negative."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from tinygen.ir.answers import Range
from tinygen.ir.channels import Intervals, Link, linked, united
from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Rows
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_rank
from tinygen.ops.ring_rows import RingRows, copied_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice(Op):
    """output[i, j, ...] = input[begin[0] + i * strides[0], begin[1] + j * strides[1], ...]."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor
    output: Tensor  # same rank; its shape is the size of the box
    begin: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements stand side by side in the input, in the same order."""
        sizes = self.output.shape
        if any(stride != 1 and size > 1 for stride, size in zip(self.strides, sizes, strict=True)):
            return False
        cut = [axis for axis, size in enumerate(sizes) if size != self.input.shape[axis]]
        return not cut or all(size == 1 for size in sizes[: cut[-1]])

    @property
    def first_element(self) -> int:
        """Flat index in the input of the first element."""
        return sum(begin * prod(self.input.shape[axis + 1 :]) for axis, begin in enumerate(self.begin))

    def turned(self, turn: Turn) -> Turned:
        return Turned(replace(self, begin=turn.per_axis(self.begin, 0), strides=turn.per_axis(self.strides, 1)))

    def permuted(self, permutation: Permutation) -> Turned:
        begin, strides = permutation.per_axis(self.begin), permutation.per_axis(self.strides)
        return Turned(replace(self, begin=begin, strides=strides))

    def channel_links(self) -> tuple[Link, ...] | None:
        keeps = bool(self.begin) and self.strides[-1] == 1 and self.output.shape[-1] == self.input.shape[-1]
        return linked(self.output, self.input) if keeps else None

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        rank = len(self.input.shape)
        check_rank("output", self.output, rank)
        if len(self.begin) != rank or len(self.strides) != rank:
            raise ValueError(f"begin {list(self.begin)} and strides {list(self.strides)} must have {rank} numbers each")
        for axis, (begin, stride, size) in enumerate(zip(self.begin, self.strides, self.output.shape, strict=True)):
            last = begin + (size - 1) * stride
            if size < 1 or not (0 <= begin < self.input.shape[axis] and 0 <= last < self.input.shape[axis]):
                raise ValueError(
                    f"the slice takes {size} elements from {begin} on with stride {stride} along axis {axis}, "
                    f"which has {self.input.shape[axis]}"
                )

    def aliases(self) -> tuple[Alias, ...]:
        if not self.is_contiguous:
            return ()
        return (Alias(self.output, self.input, self.first_element * self.input.type.dtype.bytes),)

    def on_ring(self, ring: Ring) -> RingRows | None:
        """Whole rows, where no more are copied than a window would move."""
        rows = self.output.shape[1]
        is_of_rows = self.output.shape[2:] == ring.kept.shape[2:] and self.strides[0::2] + self.strides[3:] == (1, 1, 1)
        if not is_of_rows or self.strides[1] < 1 or rows > ring.kept.shape[1]:
            return None
        return copied_rows(ring, range(self.begin[1], ring.rows, self.strides[1]), self.name, self.source, self.output)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        begin, stride = self.begin[1], self.strides[1]
        return Rows(begin + rows.first * stride, begin + (rows.end - 1) * stride + 1) if stride > 0 else None

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        batch, _, *others = self.begin
        return replace(tile, op=replace(tile.op, begin=(batch, 0, *others)))  # type: ignore[call-arg]

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        taken = values[self.input]
        for axis, (begin, stride, size) in enumerate(zip(self.begin, self.strides, self.output.shape, strict=True)):
            taken = taken.take(range(begin, begin + size * stride, stride), axis)
        return (taken,)
