"""Second moments of what weights are multiplied with, in bounded memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tinygen.ir.coding import Indices

Reals = npt.NDArray[np.float64]

MOST_BYTES: Final = 1 << 28  # of the moments that are held at once
_MOST_INPUTS = 2048  # that are looked at together: inverses take a time that grows with their cube
_WIDTH = 8  # bytes of an element
_DAMPINGS = (0.01, 0.1, 1.0)  # of the mean moment: what is not in the samples still counts; the first that is definite


@dataclass(frozen=True, eq=False)
class Inverse:
    """Of damped moments of inputs, each group's largest first."""

    first: Indices  # [groups, inputs]: which input comes when
    factor: Reals  # upper triangles [groups, inputs, inputs], so that factor' factor is the inverse


class Moments:
    """Sums of x x' over positions, for inputs x of weights [outputs, inputs].

    Inputs beyond a number that fits memory are in parts, products across which are left out.
    """

    def __init__(self, groups: int, inputs: int) -> None:
        """For `groups` groups of outputs, each with inputs of its own."""
        size = max(1, min(_MOST_INPUTS, inputs, MOST_BYTES // (_WIDTH * groups * max(inputs, 1))))
        self.groups = groups
        self.parts = tuple(slice(first, min(first + size, inputs)) for first in range(0, inputs, size))
        self.sums: tuple[Reals, ...] = tuple(
            np.zeros((groups, part.stop - part.start, part.stop - part.start)) for part in self.parts
        )

    @staticmethod
    def bytes(groups: int, inputs: int) -> int:
        """What they take."""
        return _WIDTH * groups * inputs * min(_MOST_INPUTS, inputs)

    def add(self, rows: Reals) -> None:
        """Count inputs [groups, positions, inputs]."""
        for part, sums in zip(self.parts, self.sums, strict=True):
            here = rows[:, :, part]
            sums += here.transpose(0, 2, 1) @ here

    @cached_property
    def inverses(self) -> "tuple[Inverse | None, ...]":
        """By parts; None where no sample has any input."""
        return tuple(_inverse(sums) for sums in self.sums)

    @property
    def of_inputs(self) -> Reals:
        """Sums of squares, [groups, inputs]."""
        return np.concatenate([np.diagonal(sums, axis1=1, axis2=2) for sums in self.sums], axis=1)


def _inverse(sums: Reals) -> Inverse | None:
    means = np.trace(sums, axis1=1, axis2=2) / sums.shape[1]
    if not means.any():
        return None
    first = np.argsort(-np.diagonal(sums, axis1=1, axis2=2), axis=1, kind="stable")
    ordered = np.take_along_axis(np.take_along_axis(sums, first[:, :, None], axis=1), first[:, None, :], axis=2)
    added = np.where(means > 0, means, means.max())[:, None, None] * np.eye(sums.shape[1])
    for damping in _DAMPINGS[:-1]:
        try:
            return Inverse(first, _factor(ordered + damping * added))
        except np.linalg.LinAlgError:
            continue
    return Inverse(first, _factor(ordered + _DAMPINGS[-1] * added))


def _factor(moments: Reals) -> Reals:
    return np.linalg.cholesky(np.linalg.inv(moments)).transpose(0, 2, 1)
