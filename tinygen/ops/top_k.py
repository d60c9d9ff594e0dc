"""Indices of the largest, or smallest, values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.along_axis import AlongAxis
from tinygen.ops.checks import check_dtype, check_shape

COMPARED = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)


@dataclass(frozen=True, eq=False, kw_only=True)
class TopK(AlongAxis):
    """Indices along `axis` of the `count` largest values, or smallest, in order; of equal ones the first comes first.

    What is no number comes last.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # of `COMPARED`
    output: Tensor  # int32 or int64; the input's shape with `count` along `axis`
    count: int
    is_largest: bool = True

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, *COMPARED)
        check_dtype("output", self.output, DType.INT32, DType.INT64)
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
