"""Elements less their mean, over their deviation: layer, instance, group and root mean square normalization."""

from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range, Summation
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_activations, check_dtype, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array

NORMAL_BITS = 20  # fraction bits of standardized elements
SUMMAND_BITS = 10  # fraction bits of summands
_ROOT_BITS = 62  # of the product of a root and its reciprocal
_MOST_FRACTION_BITS = 22  # of the square of the deviation; even, like its shifts
_LARGEST_DIFFERENCE = (1 << 31) - 1


@dataclass(frozen=True)
class FixedAffine:
    """A factor and a summand for each of `channels`, as integers: multiples of 2**-bits and of 2**-10 of a step."""

    factors: npt.NDArray[np.int32]
    summands: npt.NDArray[np.int32]
    bits: int

    @classmethod
    def of(cls, factors: npt.NDArray[np.float64], summands: npt.NDArray[np.float64]) -> "FixedAffine":
        """Of real numbers in steps of the result; ValueError where they are too large for any result."""
        largest = float(np.abs(factors).max(initial=0.0))
        most = float(np.abs(summands).max(initial=0.0))
        if not (np.isfinite(largest) and largest < 1 << 40) or not most < 1 << (30 - SUMMAND_BITS):
            raise ValueError(f"factors up to {largest:g} and summands up to {most:g} steps of the result are too large")
        bits = NORMAL_BITS if largest < 1 else min(NORMAL_BITS, 29 - int(np.floor(np.log2(largest))))
        return cls(
            np.rint(factors * 2.0**bits).astype(np.int32),
            np.rint(summands * (1 << SUMMAND_BITS)).astype(np.int32),
            bits,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Standardize(Op):
    """output = (input - mean) / sqrt(variance + epsilon) * factor + summand, mean and variance over some axes.

    Without `centers` the mean counts as 0: a root mean square. Of int8 or int16, in integers alone. With u the input
    less its zero point, n elements, S their sum and Q the sum of their squares, it is
    (n u - S) / sqrt(n Q - S**2 + n**2 epsilon / scale**2): sums are exact, the reciprocal root has 30 bits, the
    quotient 20 behind the point, the product with the factor is rounded once, to the nearest, ties up. What is lost
    before is below 2**-7 of a step, for means of up to 2**16 elements and factors below 2**12 steps: a result is
    within 0.5 + 2**-7 steps of the real number.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    factors: Tensor  # int32 [channels], multiples of 2**-factor_bits steps of the output
    summands: Tensor  # int32 [channels], multiples of 2**-10 steps of the output
    output: Tensor
    axes: tuple[int, ...]  # consecutive ones, over which means are
    channel_step: int  # elements that follow each other with one factor
    factor_bits: int
    epsilon: float  # of the real variance
    centers: bool = True

    @property
    def extents(self) -> tuple[int, int, int]:
        """Groups, elements of each, and how far these lie apart."""
        shape, first, last = self.input.shape, self.axes[0], self.axes[-1]
        return prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :])

    @property
    def size(self) -> int:
        """Elements that have a mean."""
        return self.extents[1]

    @property
    def summation(self) -> Summation:
        return Summation(self.size, are_products=False)

    @property
    def _farthest(self) -> int:
        type = self.input.type
        return max(type.max - type.zero_point, type.zero_point - type.min)

    @cached_property
    def fraction_bits(self) -> int:
        """Of n Q - S**2 + floor, so that it stays below 2**62; even."""
        largest = self.size**2 * self._farthest**2 + int(self._real_floor) + 1
        return min(_MOST_FRACTION_BITS, max(0, _ROOT_BITS - largest.bit_length()) & ~1)

    @property
    def _real_floor(self) -> float:
        return self.size**2 * self.epsilon / self.input.type.scale**2

    @cached_property
    def floor(self) -> int:
        """What epsilon adds below the root, with `fraction_bits`."""
        return round(self._real_floor * (1 << self.fraction_bits))

    @property
    def shift(self) -> int:
        """Of products with factors, to the right."""
        return NORMAL_BITS + self.factor_bits

    def precision_points(self) -> tuple[Point, ...]:
        root = Point("reciprocal root", f"30 bits, of a 64-bit sum with {self.fraction_bits} fraction bits")
        normal = Point("standardized", f"{NORMAL_BITS} fraction bits")
        return (*offsets(self.input), root, normal, *requantized(self.output))

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        if self.output.type.dtype.is_real:
            raise ValueError(f"output '{self.output.name}' is float32, i8 or i16 was expected")
        check_activations(("input", self.input), ("output", self.output))
        check_shape("output", self.output, self.input.shape)
        for role, tensor in (("factors", self.factors), ("summands", self.summands)):
            check_dtype(role, tensor, DType.INT32)
            if tensor.data is None or len(tensor.shape) != 1 or tensor.shape != self.factors.shape:
                raise ValueError(f"{role} '{tensor.name}' are not as many constants as channels")
        rank, elements = len(self.input.shape), self.input.type.elements
        if not elements or not self.axes or self.axes != tuple(range(self.axes[0], self.axes[0] + len(self.axes))):
            raise ValueError(
                f"axes {list(self.axes)} of {list(self.input.shape)}, some that follow each other expected"
            )
        if not 0 <= self.axes[0] <= self.axes[-1] < rank:
            raise ValueError(f"axes {list(self.axes)} of {rank} dimensions, ones that exist were expected")
        if self.channel_step < 1 or elements % (self.channel_step * self.factors.type.elements):
            raise ValueError(f"{self.factors.type.elements} channels do not divide {list(self.input.shape)}")
        if not -SUMMAND_BITS <= self.factor_bits <= NORMAL_BITS:
            raise ValueError(
                f"factors have {self.factor_bits} bits behind the point, up to {NORMAL_BITS} were expected"
            )
        self._check_size()

    def _check_size(self) -> None:
        if 2 * self.size * self._farthest > _LARGEST_DIFFERENCE:
            most = _LARGEST_DIFFERENCE // (2 * self._farthest)
            raise ValueError(f"a mean of {self.size} elements, at most {most} were expected")
        if not 0 <= self._real_floor < 1 << (_ROOT_BITS - 1):
            raise ValueError(f"epsilon is {self.epsilon:g}, which is beyond any variance at this scale")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        is_within_row = self.axes[0] > 1 and self._has_channels_within(self.input.shape[2:])
        return rows if is_within_row and operand.shape == self.output.shape else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:
        is_within_column = self.axes[0] > 2 and self._has_channels_within(self.input.shape[3:])
        return columns if is_within_column and operand.shape == self.output.shape else None

    def _has_channels_within(self, shape: tuple[int, ...]) -> bool:
        """Whether all factors are used in each block of that shape."""
        return prod(shape) % (self.channel_step * self.factors.type.elements) == 0

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        outer, size, inner = self.extents
        centered = (values[self.input].astype(np.int64) - self.input.type.zero_point).reshape(outer, size, inner)
        squares = size * np.square(centered).sum(axis=1, keepdims=True)
        sums = centered.sum(axis=1, keepdims=True) if self.centers else np.zeros_like(squares)
        totals = ((squares - np.square(sums)) << self.fraction_bits) + self.floor
        roots = [_reciprocal_root(int(total), self.fraction_bits) for total in totals.reshape(-1)]
        reciprocals, shifts = (
            np.array(numbers, np.int64).reshape(totals.shape) for numbers in zip(*roots, strict=True)
        )
        normal = rounded((size * centered - sums) * reciprocals, shifts).reshape(-1)
        channels = np.arange(normal.size) // self.channel_step % self.factors.type.elements
        factors, summands = (values[each].astype(np.int64)[channels] for each in (self.factors, self.summands))
        scaled = normal * factors + (summands << (self.shift - SUMMAND_BITS))
        stored = rounded(scaled, np.array(self.shift)) + self.output.type.zero_point
        limited = Clamp.none(self.output.type).apply(stored)
        return (limited.astype(self.output.type.dtype.numpy).reshape(self.output.shape),)


def rounded(value: Int64Array, shift: npt.NDArray[np.int64]) -> Int64Array:
    """Shifted to the right, to the nearest, ties up."""
    return np.where(shift > 0, (value + ((1 << shift) >> 1)) >> shift, value)


def _reciprocal_root(total: int, fraction_bits: int) -> tuple[int, int]:
    """A number of 31 bits, and the shift to the right behind a product with it that leaves `NORMAL_BITS`."""
    value = max(total, 1)
    pairs = (64 - value.bit_length()) // 2
    root = isqrt(value << 2 * pairs)
    return (1 << _ROOT_BITS) // root, _ROOT_BITS - NORMAL_BITS - pairs - fraction_bits // 2
