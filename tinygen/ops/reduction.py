"""Reductions over arbitrary axes: mean, sum, largest and smallest value."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.channels import Intervals, Link, channel_count, linked, united
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation, Turned
from tinygen.ir.rows import Channels, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_activations, check_numbers, check_same_quantization
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import ACCUMULATOR, offsets, requantized
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    quantize_multiplier,
    requantize,
    requantized_intervals,
    with_zero_point,
    wrap_int32,
)


@dataclass(frozen=True)
class Extents:
    """A shape whose neighbouring axes are merged until kept and reduced axes take turns; absent ones are 1."""

    outer: int  # kept
    first: int  # reduced
    middle: int  # kept
    second: int  # reduced
    inner: int  # kept


_LARGEST_COUNT = (1 << 16) - 1  # int16 values whose sum fits 32 bits


def merge_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> Extents:
    """The extents of a reduction of `axes`; ValueError where more than two groups of axes are reduced."""
    merged = [1]  # kept, reduced, kept, ... in turns
    for axis, size in enumerate(shape):
        reduced = axis in axes
        if size == 1:
            continue
        if reduced == (len(merged) % 2 == 0):
            merged[-1] *= size
        else:
            merged.append(size)
    if len(merged) > 5:
        raise ValueError(
            f"axes {list(axes)} of shape {list(shape)} lie apart in more than two groups, two at most were expected"
        )
    if len(merged) <= 3:  # one group: written as the second one, whose elements lie closest
        outer, second, inner = (*merged, 1, 1)[:3]
        return Extents(outer, 1, 1, second, inner)
    outer, first, middle, second, inner = (*merged, 1)[:5]
    return Extents(outer, first, middle, second, inner)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduction(Op):
    """Reduction along `axes`; the output leaves them out or keeps them with size 1."""

    result_range: ClassVar[Range] = Range.OWN
    takes_int16: ClassVar[bool] = False

    input: Tensor
    output: Tensor
    axes: tuple[int, ...]  # ascending, not negative

    @property
    def extents(self) -> Extents:
        """The reduction in at most two groups of axes."""
        return merge_axes(self.input.shape, self.axes)

    @property
    def count(self) -> int:
        """Input elements that make one output element."""
        return prod(self.input.shape[axis] for axis in self.axes)

    @property
    def takes_rows_in_any_order(self) -> bool:
        return 1 in self.axes and not self.input.type.dtype.is_real  # sums of real numbers are rounded one by one

    def channel_links(self) -> tuple[Link, ...] | None:
        is_kept = len(self.input.shape) - 1 not in self.axes
        keeps = is_kept and channel_count(self.input) == channel_count(self.output)
        return linked(self.output, self.input) if keeps else None

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows if min(self.axes, default=2) > 1 else None

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        return channels if len(operand.shape) - 1 not in self.axes else None

    def permuted(self, permutation: Permutation) -> Turned | None:
        axes = tuple(sorted(permutation.order.index(axis) for axis in self.axes))
        joined = axes == tuple(range(axes[0], axes[-1] + 1)) if axes else True
        return Turned(replace(self, axes=axes)) if joined else None  # what lies apart has no kernel in each order

    def check_types(self) -> None:
        """Raise ValueError where element types or quantizations are none that the operator takes."""
        check = check_activations if self.takes_int16 else check_numbers
        check(("input", self.input), ("output", self.output))

    def verify(self) -> None:
        self.check_types()
        rank = len(self.input.shape)
        if list(self.axes) != sorted(set(self.axes)) or any(not 0 <= axis < rank for axis in self.axes):
            raise ValueError(f"axes {list(self.axes)} are not ascending axes of shape {list(self.input.shape)}")
        if self.input.type.elements == 0:
            raise ValueError(f"input '{self.input.name}' has shape {list(self.input.shape)}, without any element")
        kept = tuple(1 if axis in self.axes else size for axis, size in enumerate(self.input.shape))
        squeezed = tuple(size for axis, size in enumerate(self.input.shape) if axis not in self.axes)
        if self.output.shape not in (kept, squeezed):
            raise ValueError(
                f"output '{self.output.name}' has shape {list(self.output.shape)}, {list(squeezed)} or {list(kept)} "
                "were expected"
            )
        merge_axes(self.input.shape, self.axes)


@dataclass(frozen=True, eq=False, kw_only=True)
class _ScaledSum(Reduction):
    """Sum of the real values; of int8 requantized."""

    def verify(self) -> None:
        super().verify()
        if self.output.type.dtype is DType.INT16 and self.count > _LARGEST_COUNT:
            raise ValueError(f"the sum of {self.count} elements of i16, at most {_LARGEST_COUNT} were expected")

    @property
    def real_factor(self) -> float:
        """What a sum of float32 values is multiplied with."""
        return 1.0

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.input), ACCUMULATOR, *requantized(self.output))

    @property
    def summation(self) -> Summation:
        return Summation(self.count, are_products=False)

    @property
    def scaling(self) -> Multiplier:
        """From the sum of the stored values (zero points taken off) to the output."""
        return quantize_multiplier(self.input.type.scale / self.output.type.scale)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        zero_point, scaling = self.input.type.zero_point, self.scaling
        sums = operands[0].each(lambda ends: self.count * (ends - zero_point))
        found = requantized_intervals(sums, scaling.multiplier, scaling.shift, self.output.type.zero_point)
        return found.each(Clamp.none(self.output.type).apply)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            total = values[self.input].sum(axis=self.axes, dtype=np.float64) * self.real_factor
            return (np.asarray(total, np.float32).reshape(self.output.shape),)
        sums: Int64Array = values[self.input].astype(np.int64).sum(axis=self.axes)
        sums = wrap_int32(sums - self.input.type.zero_point * self.count)
        scaling = self.scaling
        stored = with_zero_point(requantize(sums, scaling.multiplier, scaling.shift), self.output.type.zero_point)
        saturated = Clamp.none(self.output.type).apply(stored).astype(self.output.type.dtype.numpy)
        return (saturated.reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(_ScaledSum):
    """Sum along the axes."""

    takes_int16: ClassVar[bool] = True

    @property
    def differs_in_litert(self) -> bool:
        return not self.output.type.dtype.is_real  # whose kernel never sets its multiplier: its results mean nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class Mean(_ScaledSum):
    """Mean along the axes: the division by their size is part of the multiplier.

    As TFLite's QuantizedMeanOrSum does it: the multiplier is shifted left by floor(log2(count)) bits (less where the
    shift would leave its range) before it is divided by the count, and the quotient is cut off.
    """

    takes_int16: ClassVar[bool] = True

    @property
    def scaling(self) -> Multiplier:
        whole = super().scaling
        bits = min(self.count.bit_length() - 1, 32, 31 + whole.shift)
        return Multiplier((whole.multiplier << bits) // self.count, whole.shift - bits)

    @property
    def real_factor(self) -> float:
        return 1.0 / self.count


@dataclass(frozen=True, eq=False, kw_only=True)
class _Extreme(Reduction):
    """One of the input's own values: both quantizations are the same."""

    result_range: ClassVar[Range] = Range.OF_OPERAND
    takes_int16: ClassVar[bool] = True

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        super().verify()
        check_same_quantization(self.input, self.output)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceMax(_Extreme):
    """Largest value along the axes."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.input].max(axis=self.axes)).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceMin(_Extreme):
    """Smallest value along the axes."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.input].min(axis=self.axes)).reshape(self.output.shape),)
