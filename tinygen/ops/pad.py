"""Padding with a constant or with mirrored elements."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.channels import Intervals, Link, linked, united
from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Channels, Rows
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape


class Mirror(Enum):
    """How elements are repeated at an edge, named as in numpy."""

    REFLECT = "reflect"  # without the edge itself: c b | a b c | b a
    SYMMETRIC = "symmetric"  # with the edge: b a | a b c | c b


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pad(Op):
    """The input in the middle of a larger output."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor
    output: Tensor
    before: tuple[int, ...]  # elements added at the start of each axis
    after: tuple[int, ...]  # elements added at the end of each axis

    @property
    def is_nothing(self) -> bool:
        """Whether no element is added."""
        return not any(self.before) and not any(self.after)

    def channel_links(self) -> tuple[Link, ...] | None:
        return linked(self.output, self.input) if self.before and not self.before[-1] and not self.after[-1] else None

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        rank = len(self.input.shape)
        if len(self.before) != rank or len(self.after) != rank or min((*self.before, *self.after), default=0) < 0:
            raise ValueError(
                f"padding {list(self.before)} and {list(self.after)} must be {rank} numbers each, none negative"
            )
        sizes = zip(self.before, self.input.shape, self.after, strict=True)
        check_shape("output", self.output, tuple(sum(parts) for parts in sizes))

    def aliases(self) -> tuple[Alias, ...]:
        return (Alias(self.output, self.input),) if self.is_nothing else ()

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - there is only one
        return None if self.before[-1] or self.after[-1] else channels

    @property
    def _widths(self) -> list[tuple[int, int]]:
        return list(zip(self.before, self.after, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Pad(_Pad):
    """Padding with one value: a stored integer, or a real number where elements are float32."""

    value: float

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return operands[0] if self.is_nothing else operands[0].including(int(self.value))

    def turned(self, turn: Turn) -> Turned:
        return Turned(replace(self, before=turn.per_axis(self.before, 0), after=turn.per_axis(self.after, 0)))

    def permuted(self, permutation: Permutation) -> Turned:
        return Turned(replace(self, before=permutation.per_axis(self.before), after=permutation.per_axis(self.after)))

    def verify(self) -> None:
        super().verify()
        dtype = self.input.type.dtype
        if dtype.is_real:
            return
        if dtype.bytes > 1 and self.value:
            raise ValueError(f"the padding is {self.value} of {dtype.value}, 0 was expected")
        if dtype.bytes == 1 and dtype.is_integer and not dtype.min <= self.value <= dtype.max:
            raise ValueError(f"the padding is {self.value}, a value of {dtype.value} was expected")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        """No rows for those that are padding alone."""
        first, end = (min(max(0, row - self.before[1]), self.input.shape[1]) for row in (rows.first, rows.end))
        return Rows(first, end)

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        (operand,) = tile.operands
        above = min(max(0, self.before[1] - rows.first), rows.count)
        below = rows.count - operand.rows.count - above
        before, after = (_with_rows(widths, count) for widths, count in ((self.before, above), (self.after, below)))
        return replace(tile, op=replace(tile.op, before=before, after=after))  # type: ignore[call-arg]

    @property
    def tile_kind(self) -> Hashable:
        return self.before, self.after

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.pad(values[self.input], self._widths, constant_values=self.value),)


def _with_rows(widths: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """The widths with another one along the axis of rows."""
    return (widths[0], rows, *widths[2:])


@dataclass(frozen=True, eq=False, kw_only=True)
class MirrorPad(_Pad):
    """Padding that repeats the input backwards, at most once."""

    mirror: Mirror

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return None if self.before[1] or self.after[1] else rows

    def verify(self) -> None:
        super().verify()
        edge = 1 if self.mirror is Mirror.REFLECT else 0
        for axis, widths in enumerate(self._widths):
            if max(widths) > self.input.shape[axis] - edge:
                raise ValueError(
                    f"padding {widths} along axis {axis} mirrors more than its {self.input.shape[axis] - edge} elements"
                )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.pad(values[self.input], self._widths, mode=self.mirror.value),)
