"""Index of the largest value."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.along_axis import PlacesAlongAxis
from tinygen.ops.checks import check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class ArgMax(PlacesAlongAxis):
    """Index along `axis` of the largest value; of equal ones the first."""

    output: Tensor  # the input's shape without `axis`

    def verify(self) -> None:
        super().verify()
        shape = self.input.shape
        check_shape("output", self.output, shape[: self.axis] + shape[self.axis + 1 :])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        indices = np.argmax(values[self.input], axis=self.axis)
        return (np.asarray(indices, self.output.type.dtype.numpy),)
