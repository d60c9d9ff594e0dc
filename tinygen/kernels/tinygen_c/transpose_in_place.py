"""Transposes where the operand lies: no second copy of it, for about the time of copying it twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import ClassVar

from tinygen.kernels.base import Kernel
from tinygen.ops.transpose import Transpose

_SEARCH, _MOVE = 10, 4  # about the instructions to look whether a cycle begins, times the logarithm; to move a byte


@dataclass(frozen=True)
class MatricesStruct:
    """struct tg_matrices: matrices one behind the other."""

    count: int
    rows: int
    columns: int
    element_bytes: int

    @property
    def effort(self) -> float:
        """About the instructions of transposing them: cycles are looked for once, whatever the number of matrices."""
        elements = self.rows * self.columns
        return _SEARCH * elements * log2(elements) + _MOVE * self.count * elements * self.element_bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeInPlace(Kernel):
    """tg_transpose_in_place, once for each pass."""

    template: ClassVar[str] = "transpose_in_place"
    header: ClassVar[str] = "tg_movement.h"

    passes: tuple[MatricesStruct, ...]


def transpose_in_place(op: Transpose) -> TransposeInPlace:
    """The kernel that takes over its operand's memory; elsewhere it copies the operand first."""
    return TransposeInPlace(
        function="tg_transpose_in_place",
        reads=(op.input,),
        writes=(op.output,),
        in_place=(op.input,),
        passes=passes(op.input.shape, op.permutation, op.input.type.dtype.bytes),
    )


def passes(shape: Sequence[int], permutation: Sequence[int], element_bytes: int) -> tuple[MatricesStruct, ...]:
    """The transposes of matrices, one after the other, that permute the axes of an array."""
    return tuple(_passes(shape, permutation, element_bytes))


def _passes(shape: Sequence[int], permutation: Sequence[int], element_bytes: int) -> Iterator[MatricesStruct]:
    """Axis by axis, the one that comes first, with those that follow it already, changes places with all before it."""
    left = list(range(len(shape)))  # axes in the order in which they are
    for position, axis in enumerate(permutation):
        at = left.index(axis)
        end = at + 1
        while end < len(left) and left[end] == permutation[position + end - at]:
            end += 1
        before, moved, behind = (prod(shape[i] for i in axes) for axes in (left[:at], left[at:end], left[end:]))
        done = prod(shape[i] for i in permutation[:position])
        if before > 1 and moved > 1:
            yield from _cheapest(MatricesStruct(done, before, moved, behind * element_bytes))
        left = [*left[at:end], *left[:at], *left[end:]]
        left.remove(axis)


def _cheapest(matrices: MatricesStruct) -> tuple[MatricesStruct, ...]:
    """One pass, or two of fewer elements: whole pieces of rows or columns first, then what is in them, or the other way
    around."""
    count, rows, columns, element = matrices.count, matrices.rows, matrices.columns, matrices.element_bytes
    ways: list[tuple[MatricesStruct, ...]] = [(matrices,)]
    for inner in _divisors(columns):
        outer = columns // inner
        pieces = MatricesStruct(count, rows, outer, inner * element)
        ways.append((pieces, MatricesStruct(count * outer, rows, inner, element)))
    for inner in _divisors(rows):
        outer = rows // inner
        pieces = MatricesStruct(count, outer, columns, inner * element)
        ways.append((MatricesStruct(count * outer, inner, columns, element), pieces))
    return min(ways, key=lambda way: sum(each.effort for each in way))


def _divisors(number: int) -> Iterator[int]:
    """Those other than 1 and itself."""
    for divisor in range(2, int(number**0.5) + 1):
        if number % divisor == 0:
            yield divisor
            if divisor * divisor != number:
                yield number // divisor
