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
        sizes, (first_strides, second_strides) = merged_loops(first, second)
        return cls(sizes, first_strides, second_strides)

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


def merged_loops(*operands: Shape) -> tuple[Shape, tuple[Shape, ...]]:
    """Sizes of the loops over operands that broadcast, outermost first, and each operand's strides in elements.

    Axes that all operands walk in the same way are merged; ValueError where more than MAX_AXES remain.
    """
    merged: list[tuple[int, tuple[bool, ...]]] = []  # size of an axis, and whether each operand repeats along it
    shape = np.broadcast_shapes(*operands)
    for size, *own in zip(shape, *(_padded(operand, shape) for operand in operands), strict=True):
        repeats = tuple(own_size != size for own_size in own)
        if size == 1:
            continue
        if merged and merged[-1][1] == repeats:
            merged[-1] = (merged[-1][0] * size, repeats)
        else:
            merged.append((size, repeats))
    if len(merged) > MAX_AXES:
        shapes = ", ".join(str(list(operand)) for operand in operands[:-1])
        raise ValueError(f"shapes {shapes} and {list(operands[-1])} alternate in more than {MAX_AXES} axes")
    sizes = tuple(size for size, _ in merged)
    strides = (_strides(sizes, [repeats[at] for _, repeats in merged]) for at in range(len(operands)))
    return sizes, tuple(strides)


def _padded(shape: Shape, target: Shape) -> Shape:
    return (1,) * (len(target) - len(shape)) + shape


def _strides(sizes: Shape, repeats: list[bool]) -> Shape:
    own = [1 if repeat else size for size, repeat in zip(sizes, repeats, strict=True)]
    return tuple(0 if repeat else prod(own[axis + 1 :]) for axis, repeat in enumerate(repeats))
