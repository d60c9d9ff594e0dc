"""Weights in blocks that share a scale."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array, Float32Array

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Weights with two axes for each of theirs: blocks, and elements of a block."""

    values: Float32Array
    shape: tuple[int, ...]  # of the weights

    @classmethod
    def of(cls, weights: Array, sizes: tuple[int, ...]) -> "Blocks":
        """Blocks of `sizes` elements along each axis, of which 0 is all; ValueError where they do not divide it."""
        return cls(in_blocks(weights.astype(np.float32), sizes), weights.shape)

    @property
    def inner(self) -> tuple[int, ...]:
        """The axes of elements within their block."""
        return tuple(range(1, self.values.ndim, 2))

    @cached_property
    def largest(self) -> Float32Array:
        """Of each block the largest magnitude; axes of elements have size 1."""
        return np.asarray(np.abs(self.values).max(axis=self.inner, keepdims=True), np.float32)

    @cached_property
    def range(self) -> tuple[Float32Array, Float32Array]:
        """Of each block the smallest and largest weight, or 0 where that lies beyond."""
        low = np.minimum(self.values.min(axis=self.inner, keepdims=True), np.float32(0))
        high = np.maximum(self.values.max(axis=self.inner, keepdims=True), np.float32(0))
        return low, high

    def per_block(self, numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Numbers of blocks with an axis for each of the weights'."""
        return numbers.reshape(numbers.shape[::2])


def in_blocks(numbers: npt.NDArray[Number], sizes: tuple[int, ...]) -> npt.NDArray[Number]:
    """Numbers with two axes for each of theirs: blocks, and elements of a block; ValueError where that cuts blocks."""
    shape = numbers.shape
    used = tuple(size or length for size, length in zip(sizes, shape, strict=True))
    if any(length % size for size, length in zip(used, shape, strict=True)):
        raise ValueError(
            f"Invalid block_sizes {list(sizes)} for weights of shape {list(shape)}: whole blocks along each axis were "
            "expected"
        )
    return numbers.reshape([part for size, length in zip(used, shape, strict=True) for part in (length // size, size)])
