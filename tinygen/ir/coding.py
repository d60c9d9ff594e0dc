"""Real constants as narrow codes with scales for blocks of them: real = scale * (code - zero point)."""

from dataclasses import dataclass, replace
from functools import cached_property

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


@dataclass(frozen=True, eq=False)
class Coding:
    """How a constant of real numbers is stored: numpy's types say in which formats.

    Along each axis the scales are as many as there are blocks, whose number divides the axis.
    """

    codes: Array  # in the shape of the constant
    scales: Array  # float32, float16 or powers of two (E8M0), of as many axes
    zero_points: Array | None = None  # of the codes' type, in the shape of the scales

    @property
    def format(self) -> Format:
        """The format of codes."""
        return Format.of(self.codes.dtype)

    @property
    def scale_format(self) -> Format:
        """The format of scales."""
        return Format.of(self.scales.dtype)

    @cached_property
    def bytes(self) -> int:
        """What it takes packed: codes, scales and zero points."""
        parts = (self.codes, self.scales) if self.zero_points is None else (self.codes, self.scales, self.zero_points)
        return sum(-(-part.size * Format.of(part.dtype).bits // 8) for part in parts)

    @cached_property
    def centered(self) -> Float32Array:
        """Codes less their zero points: exact."""
        numbers: Float32Array = self.codes.astype(np.float32)
        return numbers if self.zero_points is None else numbers - _spread_real(self.zero_points, numbers.shape)

    @cached_property
    def decoded(self) -> Float32Array:
        """The real numbers, each product rounded once to float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            real: Float32Array = self.centered * _spread_real(self.scales, self.codes.shape)
        real.flags.writeable = False
        return real

    def verify(self) -> None:
        """ValueError unless blocks divide the axes, and all numbers are finite."""
        for part in (self.scales,) if self.zero_points is None else (self.scales, self.zero_points):
            shapes = zip(part.shape, self.codes.shape, strict=False)
            if part.ndim != self.codes.ndim or any(not count or size % count for count, size in shapes):
                raise ValueError(
                    f"scales or zero points of shape {list(part.shape)} for codes of {list(self.codes.shape)}, numbers "
                    "of blocks that divide each axis were expected"
                )
        if not np.isfinite(self.decoded).all():
            raise ValueError("codes and scales make numbers that are not finite")

    def transposed(self, order: tuple[int, ...]) -> "Coding":
        """With axes in another order."""
        zero_points = None if self.zero_points is None else self.zero_points.transpose(order)
        return Coding(self.codes.transpose(order), self.scales.transpose(order), zero_points)

    def with_axis(self, axis: int) -> "Coding":
        """With one more axis, of size 1."""
        zero_points = None if self.zero_points is None else np.expand_dims(self.zero_points, axis)
        return Coding(np.expand_dims(self.codes, axis), np.expand_dims(self.scales, axis), zero_points)

    def picked(self, axis: int, indices: Indices) -> "Coding | None":
        """The elements at indices of one axis; None where that cuts blocks, or moves elements among them."""
        size, blocks = self.codes.shape[axis], self.scales.shape[axis]
        block = size // blocks
        if blocks == 1:
            chosen: Indices = np.zeros(1, np.int64)
        else:
            starts = indices.reshape(-1, block) if indices.size % block == 0 else np.empty((0, block), np.int64)
            whole = starts[:, :1] // block * block + np.arange(block)
            if not starts.size or not np.array_equal(np.sort(starts, axis=1), whole):
                return None
            chosen = starts[:, 0] // block
        zero_points = None if self.zero_points is None else np.take(self.zero_points, chosen, axis)
        return Coding(np.take(self.codes, indices, axis), np.take(self.scales, chosen, axis), zero_points)

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
        scales differ by channel and along the depth alone; None where there is no such.
        """
        rank = self.codes.ndim
        coding = self.merged()
        if rank == 2:
            coding = coding.with_axis(1).with_axis(1)
        elif channel_axis != 0:
            coding = coding.transposed((channel_axis, *(axis for axis in range(1, rank) if axis != channel_axis), 0))
        channels, *window, depth = coding.scales.shape
        if window != [1, 1]:
            return None
        if channels in (1, coding.codes.shape[0]):
            return coding
        shape = (coding.codes.shape[0], 1, 1, depth)
        zero_points = None if coding.zero_points is None else spread(coding.zero_points, shape)
        return replace(coding, scales=spread(coding.scales, shape), zero_points=zero_points)

    def merged(self) -> "Coding":
        """With one scale along axes where all blocks have the same."""
        scales, zero_points = self.scales, self.zero_points
        for axis in range(scales.ndim):
            first = scales.take([0], axis), None if zero_points is None else zero_points.take([0], axis)
            is_same = np.array_equal(np.broadcast_to(first[0], scales.shape), scales)
            if first[1] is not None and zero_points is not None:
                is_same &= np.array_equal(np.broadcast_to(first[1], zero_points.shape), zero_points)
            if is_same:
                scales, zero_points = first
        return Coding(self.codes, scales, zero_points)
