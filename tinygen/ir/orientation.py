"""Tensors turned so that a signal runs along their rows, from whatever axis it runs along."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array

if TYPE_CHECKING:
    from tinygen.ir.graph import Op

ROWS = 1  # the axis along which the signal is to run
RANK = 4
SWAP = (0, 2, 1, 3)


@dataclass(frozen=True, eq=False)
class Turned:
    """An operator on turned tensors, which are still to be exchanged, but for constants that are turned otherwise."""

    op: "Op"
    constants: Mapping[Tensor, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """From tensors of 2 to 4 axes, of which the signal runs along `axis`, to [N, signal, W, C]."""

    axis: int

    @property
    def exchanges(self) -> bool:
        """Whether rows and columns of an image change places."""
        return self.axis != ROWS

    def per_axis(self, numbers: Sequence[int], missing: int) -> tuple[int, int, int, int]:
        """Numbers that stand for the axes of a tensor, for those of its turned form; ValueError for other ranks."""
        if not 2 <= len(numbers) <= RANK:
            raise ValueError(f"{len(numbers)} axes, 2 to {RANK} were expected")
        rest = [*numbers[1 : self.axis], *numbers[self.axis + 1 :]]
        width, channels = [missing] * (2 - len(rest)) + rest
        return numbers[0], numbers[self.axis], width, channels

    def moves(self, shape: tuple[int, ...]) -> bool:
        """Whether elements of a tensor of that shape change places."""
        return self.exchanges and prod(shape[1 : self.axis]) > 1

    def broadcast(self, tensor: Tensor, rank: int) -> Tensor:
        """A constant that is broadcast to tensors of `rank` axes, turned as they are."""
        data = np.asarray(tensor.data)
        full = data.reshape((1,) * (rank - data.ndim) + data.shape)
        turned = np.ascontiguousarray(np.moveaxis(full, self.axis, ROWS)).reshape(self.per_axis(full.shape, 1))
        return _constant(tensor, turned)

    def filters(self, weights: Tensor) -> Tensor:
        """Filters with height and width exchanged."""
        return _constant(weights, np.ascontiguousarray(np.asarray(weights.data).transpose(SWAP)))


@dataclass(frozen=True)
class Permutation:
    """From tensors to the same ones with their axes in another order: axis i is axis order[i] of before."""

    order: tuple[int, ...]

    @property
    def inverse(self) -> "Permutation":
        """Back again."""
        return Permutation(tuple(self.order.index(axis) for axis in range(len(self.order))))

    def then(self, other: "Permutation") -> "Permutation":
        """This one, and another one of its result."""
        return Permutation(other.per_axis(self.order))

    def per_axis(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Numbers that stand for the axes of a tensor, for those of the result."""
        return tuple(numbers[axis] for axis in self.order)

    def moves(self, shape: tuple[int, ...]) -> bool:
        """Whether elements of a tensor of that shape change places: other axes than those of size 1."""
        moved = [axis for axis in self.order if shape[axis] != 1]
        return moved != sorted(moved)

    def broadcast(self, tensor: Tensor) -> Tensor:
        """A constant that is broadcast to tensors of so many axes, in their order."""
        data = np.asarray(tensor.data)
        if data.ndim == 0:
            return tensor
        full = data.reshape((1,) * (len(self.order) - data.ndim) + data.shape)
        return _constant(tensor, np.ascontiguousarray(full.transpose(self.order)))


def _constant(tensor: Tensor, data: Array) -> Tensor:
    return Tensor(f"{tensor.name}:turned", replace(tensor.type, shape=data.shape), data)
