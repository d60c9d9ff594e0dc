"""Indices of the largest, or smallest, values."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.along_axis import PlacesAlongAxis
from tinygen.ops.checks import check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class TopK(PlacesAlongAxis):
    """Indices along `axis` of the `count` largest values, or smallest, in order; of equal ones the first comes first.

    What is no number comes last.
    """

    output: Tensor  # the input's shape with `count` along `axis`
    count: int
    is_largest: bool = True

    def verify(self) -> None:
        super().verify()
        if not 1 <= self.count <= self.size:
            raise ValueError(f"the first {self.count} of {self.size} values, 1 to {self.size} were expected")
        shape = self.input.shape
        check_shape("output", self.output, (*shape[: self.axis], self.count, *shape[self.axis + 1 :]))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        found = values[self.input]
        ranks = np.unique(found, return_inverse=True)[1].reshape(found.shape)
        if self.is_largest:
            ranks = np.where(np.isnan(found), 1, -ranks) if self.input.type.dtype.is_real else -ranks
        order = np.argsort(ranks, axis=self.axis, kind="stable")
        chosen = np.take(order, np.arange(self.count), axis=self.axis)
        return (chosen.astype(self.output.type.dtype.numpy),)
