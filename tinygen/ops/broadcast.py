"""Broadcasting as nested loops: which elements of two operands meet."""

from dataclasses import dataclass
from math import prod

import numpy as np

MAX_AXES = 4

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Broadcast:
    """Sizes of the output's axes, and each operand's strides in elements; stride 0 repeats the operand.

    Axes that both operands walk in the same way are merged: operands of the same shape leave one axis.
    """

    sizes: Shape
    first_strides: Shape
    second_strides: Shape

    @classmethod
    def of(cls, first: Shape, second: Shape) -> "Broadcast":
        """The loops over two operands; ValueError where more than MAX_AXES remain."""
        merged: list[tuple[int, bool, bool]] = []  # size of an axis, and whether each operand repeats along it
        shape = np.broadcast_shapes(first, second)
        for size, first_size, second_size in zip(shape, _padded(first, shape), _padded(second, shape), strict=True):
            repeats = (first_size != size, second_size != size)
            if size == 1:
                continue
            if merged and merged[-1][1:] == repeats:
                merged[-1] = (merged[-1][0] * size, *repeats)
            else:
                merged.append((size, *repeats))
        if len(merged) > MAX_AXES:
            raise ValueError(f"shapes {list(first)} and {list(second)} alternate in more than {MAX_AXES} axes")
        sizes = tuple(size for size, _, _ in merged)
        return cls(
            sizes,
            _strides(sizes, [first_repeats for _, first_repeats, _ in merged]),
            _strides(sizes, [second_repeats for _, _, second_repeats in merged]),
        )

    @property
    def is_flat(self) -> bool:
        """Whether neither operand repeats."""
        return len(self.sizes) <= 1 and 0 not in (*self.first_strides, *self.second_strides)

    @property
    def padded(self) -> "Broadcast":
        """The same loops with MAX_AXES axes, outer ones of size 1."""
        missing = MAX_AXES - len(self.sizes)
        return Broadcast(
            (1,) * missing + self.sizes, (0,) * missing + self.first_strides, (0,) * missing + self.second_strides
        )


def _padded(shape: Shape, target: Shape) -> Shape:
    return (1,) * (len(target) - len(shape)) + shape


def _strides(sizes: Shape, repeats: list[bool]) -> Shape:
    own = [1 if repeat else size for size, repeat in zip(sizes, repeats, strict=True)]
    return tuple(0 if repeat else prod(own[axis + 1 :]) for axis, repeat in enumerate(repeats))
