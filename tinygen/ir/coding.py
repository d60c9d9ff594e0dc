"""Real constants as narrow codes with scales for blocks of them: real = scale * (number of the code - zero point).

The number of a code is the code itself, or the entry of a table (a palette). Where there is a mask, what it does not
set is 0 and has no code in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tinygen.ir.formats import Format
from tinygen.ir.types import Array, Float32Array


def spread(blocks: Array, shape: tuple[int, ...]) -> Array:
    """Numbers of blocks, an axis of them for each of `shape`, repeated for all elements of their blocks."""
    for axis, size in enumerate(shape):
        if blocks.shape[axis] not in (1, size):
            blocks = np.repeat(blocks, size // blocks.shape[axis], axis)
    return np.broadcast_to(blocks, shape)


def _spread_real(blocks: Array, shape: tuple[int, ...]) -> Float32Array:
    return spread(blocks, shape).astype(np.float32)


Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
MOST_LEVELS = 256  # of a table, whose indices are bytes at most


def _chosen_blocks(size: int, blocks: int, indices: Indices) -> Indices | None:
    """Which of the blocks along an axis the elements at `indices` are; None where these cut blocks, or move elements
    among them.
    """
    block = size // blocks
    if blocks == 1:
        return np.zeros(1, np.int64)
    if not indices.size or indices.size % block:
        return None
    starts = indices.reshape(-1, block)
    whole = starts[:, :1] // block * block + np.arange(block)
    return starts[:, 0] // block if np.array_equal(np.sort(starts, axis=1), whole) else None


@dataclass(frozen=True, eq=False)
class Coding:
    """How a constant of real numbers is stored: numpy's types say in which formats.

    Along each axis scales, and tables, are as many as there are blocks, whose number divides the axis.
    """

    codes: Array  # in the shape of the constant; uint8 indices where there are tables
    scales: Array  # float32, float16 or powers of two (E8M0), of as many axes
    zero_points: Array | None = None  # of the codes' type, in the shape of the scales
    levels: Float32Array | None = None  # tables of numbers: the last axis is the code
    mask: Mask | None = None  # in the shape of the constant: where codes are stored

    @property
    def format(self) -> Format:
        """The format of codes; indices of tables are UINT8, whatever their `bits`."""
        return Format.of(self.codes.dtype)

    @property
    def bits(self) -> int:
        """Bits of a code in memory."""
        return self.format.bits if self.levels is None else max(int(self.levels.shape[-1] - 1).bit_length(), 1)

    @property
    def is_blockwise(self) -> bool:
        """Whether codes are numbers themselves and all are stored."""
        return self.levels is None and self.mask is None

    @property
    def is_half(self) -> bool:
        """Whether codes are float16 numbers: as real weights that take less flash, not as integers."""
        return self.format is Format.FP16

    @classmethod
    def of_halves(cls, numbers: Array) -> "Coding | None":
        """Of weights in float16; None of vectors, as biases are, of other types, and of what is not finite."""
        if numbers.dtype != np.float16 or numbers.ndim < 2 or not numbers.size or not np.isfinite(numbers).all():
            return None
        return cls(numbers, np.ones((1,) * numbers.ndim, np.float32))

    @property
    def stored_codes(self) -> Array:
        """Those that are in memory, in C order."""
        return self.codes.reshape(-1) if self.mask is None else self.codes[self.mask]

    @property
    def scale_format(self) -> Format:
        """The format of scales."""
        return Format.of(self.scales.dtype)

    @cached_property
    def bytes(self) -> int:
        """What it takes packed: codes, scales, zero points, tables and mask."""
        parts = [part for part in (self.scales, self.zero_points, self.levels) if part is not None]
        bits = [self.stored_codes.size * self.bits, *(part.size * Format.of(part.dtype).bits for part in parts)]
        bits.append(0 if self.mask is None else self.mask.size)
        return sum(-(-count // 8) for count in bits)

    @cached_property
    def numbers(self) -> Float32Array:
        """What codes stand for before they are scaled."""
        if self.levels is None:
            return self.codes.astype(np.float32)
        tables = self.levels.reshape(-1, self.levels.shape[-1])
        places = spread(np.arange(len(tables)).reshape(self.levels.shape[:-1]), self.codes.shape)
        numbers: Float32Array = tables[places, self.codes]
        return numbers

    @cached_property
    def centered(self) -> Float32Array:
        """Numbers of codes less their zero points: of integers exact."""
        numbers = self.numbers
        if self.zero_points is not None:
            numbers = numbers - _spread_real(self.zero_points, numbers.shape)
        return numbers if self.mask is None else np.where(self.mask, numbers, np.float32(0))

    @cached_property
    def decoded(self) -> Float32Array:
        """The real numbers, each product rounded once to float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            real: Float32Array = np.asarray(
                self.centered * _spread_real(self.scales, self.codes.shape)
            )  # of no axes too
        real.flags.writeable = False
        return real

    def verify(self) -> None:
        """ValueError unless blocks divide the axes, codes have numbers, and all are finite."""
        tables = None if self.levels is None else self.levels[..., 0]
        for part in (self.scales, self.zero_points, tables):
            if part is None:
                continue
            shapes = zip(part.shape, self.codes.shape, strict=False)
            if part.ndim != self.codes.ndim or any(not count or size % count for count, size in shapes):
                raise ValueError(
                    f"scales or zero points of shape {list(part.shape)} for codes of {list(self.codes.shape)}, numbers "
                    "of blocks that divide each axis were expected"
                )
        if self.levels is not None and self.codes.max(initial=0) >= self.levels.shape[-1]:
            raise ValueError(f"codes up to {self.codes.max()} in tables of {self.levels.shape[-1]} numbers")
        if not np.isfinite(self.decoded).all():
            raise ValueError("codes and scales make numbers that are not finite")

    def _each(self, elements: Callable[[Any], Any], tables: Callable[[Any], Any]) -> "Coding":
        """With all that has the constant's axes changed; tables have one axis more."""
        return Coding(
            elements(self.codes),
            elements(self.scales),
            None if self.zero_points is None else elements(self.zero_points),
            None if self.levels is None else tables(self.levels),
            None if self.mask is None else elements(self.mask),
        )

    def transposed(self, order: tuple[int, ...]) -> "Coding":
        """With axes in another order."""
        return self._each(lambda part: part.transpose(order), lambda part: part.transpose((*order, len(order))))

    def with_axis(self, axis: int) -> "Coding":
        """With one more axis, of size 1, before axis `axis`."""
        return self._each(lambda part: np.expand_dims(part, axis), lambda part: np.expand_dims(part, axis))

    def reshaped(self, shape: tuple[int, ...]) -> "Coding | None":
        """The same elements in C order; None where blocks differ along other axes than the first, or it cuts them."""
        parts = [part for part in (self.scales, self.zero_points) if part is not None]
        blocks = [part.shape for part in parts] + ([] if self.levels is None else [self.levels.shape[:-1]])
        if any(any(size > 1 for size in each[1:]) or (shape[0] if shape else 1) % each[0] for each in blocks if each):
            return None

        def of_blocks(part: Any, inner: int) -> Any:
            first = part.shape[:1] if part.ndim > inner else (1,)
            return part.reshape(*(first if shape else ()), *(1,) * (len(shape) - 1), *part.shape[part.ndim - inner :])

        return Coding(
            self.codes.reshape(shape),
            of_blocks(self.scales, 0),
            None if self.zero_points is None else of_blocks(self.zero_points, 0),
            None if self.levels is None else of_blocks(self.levels, 1),
            None if self.mask is None else self.mask.reshape(shape),
        )

    def picked(self, axis: int, indices: Indices) -> "Coding | None":
        """The elements at indices of one axis; None where that cuts blocks, or moves elements among them."""
        size = self.codes.shape[axis]
        chosen = _chosen_blocks(size, self.scales.shape[axis], indices)
        tables = None if self.levels is None else _chosen_blocks(size, self.levels.shape[axis], indices)
        if chosen is None or (tables is None and self.levels is not None):
            return None
        return Coding(
            np.take(self.codes, indices, axis),
            np.take(self.scales, chosen, axis),
            None if self.zero_points is None else np.take(self.zero_points, chosen, axis),
            None if self.levels is None or tables is None else np.take(self.levels, tables, axis),
            None if self.mask is None else np.take(self.mask, indices, axis),
        )

    def scaled(self, factors: Array | float) -> "Coding":
        """Of the same codes with each scale times a factor, as float32 where there is one that is not 1."""
        if np.all(np.equal(factors, 1)):
            return self
        scales = self.scales.astype(np.float32) * np.asarray(factors, np.float32)
        if self.zero_points is None:
            return replace(self, scales=scales)
        return replace(self, scales=scales, zero_points=np.ascontiguousarray(spread(self.zero_points, scales.shape)))

    def as_filters(self, channel_axis: int) -> "Coding | None":
        """Of weights [units, features], or with two axes between: as filters [channels, height, width, depth] whose
        scales differ by channel and along the depth alone, tables by channel; None where there is no such.
        """
        rank = self.codes.ndim
        coding = self.merged()
        if rank == 2:
            coding = coding.with_axis(1).with_axis(1)
        elif channel_axis != 0:
            coding = coding.transposed((channel_axis, *(axis for axis in range(1, rank) if axis != channel_axis), 0))
        channels, *window, depth = coding.scales.shape
        if window != [1, 1] or (coding.levels is not None and coding.levels.shape[1:-1] != (1, 1, 1)):
            return None
        if channels in (1, coding.codes.shape[0]):
            return coding
        shape = (coding.codes.shape[0], 1, 1, depth)
        zero_points = None if coding.zero_points is None else spread(coding.zero_points, shape)
        return replace(coding, scales=spread(coding.scales, shape), zero_points=zero_points)

    def merged(self) -> "Coding":
        """With one scale, or table, along axes where all blocks have the same."""
        scales, zero_points = self.scales, self.zero_points
        for axis in range(scales.ndim):
            first = scales.take([0], axis), None if zero_points is None else zero_points.take([0], axis)
            is_same = np.array_equal(np.broadcast_to(first[0], scales.shape), scales)
            if first[1] is not None and zero_points is not None:
                is_same &= np.array_equal(np.broadcast_to(first[1], zero_points.shape), zero_points)
            if is_same:
                scales, zero_points = first
        levels = self.levels
        for axis in range(scales.ndim if levels is not None else 0):
            assert levels is not None
            table = levels.take([0], axis)
            levels = table if np.array_equal(np.broadcast_to(table, levels.shape), levels) else levels
        return replace(self, scales=scales, zero_points=zero_points, levels=levels)
