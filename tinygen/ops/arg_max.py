"""Index of the largest value."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.along_axis import AlongAxis
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.top_k import COMPARED


@dataclass(frozen=True, eq=False, kw_only=True)
class ArgMax(AlongAxis):
    """Index along `axis` of the largest value; of equal ones the first."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # an integer or float32
    output: Tensor  # int32 or int64; the input's shape without `axis`

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, *COMPARED)
        check_dtype("output", self.output, DType.INT32, DType.INT64)
        super().verify()
        shape = self.input.shape
        check_shape("output", self.output, shape[: self.axis] + shape[self.axis + 1 :])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        indices = np.argmax(values[self.input], axis=self.axis)
        return (np.asarray(indices, self.output.type.dtype.numpy),)
