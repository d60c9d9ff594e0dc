"""Weights in blocks that share a scale."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.types import Array, Float32Array


@dataclass(frozen=True, eq=False)
class Blocks:
    """Weights with two axes for each of theirs: blocks, and elements of a block."""

    values: Float32Array
    shape: tuple[int, ...]  # of the weights

    @classmethod
    def of(cls, weights: Array, sizes: tuple[int, ...]) -> "Blocks":
        """Blocks of `sizes` elements along each axis, of which 0 is all; ValueError where they do not divide it."""
        used = tuple(size or length for size, length in zip(sizes, weights.shape, strict=True))
        if any(length % size for size, length in zip(used, weights.shape, strict=True)):
            raise ValueError(
                f"Invalid block_sizes {list(sizes)} for weights of shape {list(weights.shape)}: whole blocks along "
                "each axis were expected"
            )
        split = [part for size, length in zip(used, weights.shape, strict=True) for part in (length // size, size)]
        return cls(weights.astype(np.float32).reshape(split), weights.shape)

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

    def per_block(self, numbers: Array) -> Array:
        """Numbers of blocks with an axis for each of the weights'."""
        return numbers.reshape(numbers.shape[::2])
