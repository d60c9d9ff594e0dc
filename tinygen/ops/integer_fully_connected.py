"""Fully connected layer of int8 with int32 results."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Values
from tinygen.ir.types import Array
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_rank
from tinygen.ops.integer_products import IntegerProducts


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerFullyConnected(IntegerProducts):
    """Sums of products of input vectors with units; the input is seen as rows of features, whatever its shape.

    Weights are [units, features].
    """

    result_range: ClassVar[Range] = Range.OWN

    @property
    def rows(self) -> int:
        """Input vectors."""
        return self.input.type.elements // self.weights.shape[1]

    @property
    def macs(self) -> int:
        return self.rows * self.weights.type.elements

    def verify(self) -> None:
        check_rank("weights", self.weights, 2)
        super().verify()
        units, features = self.weights.shape
        if self.input.type.elements % features or self.output.type.elements != self.rows * units:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit input {list(self.input.shape)} "
                f"and output {list(self.output.shape)}"
            )
        if self.rows % self.zero_point.type.elements:
            raise ValueError(f"{self.rows} vectors do not have {self.zero_point.type.elements} zero points")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        centered = self.centered(values[self.input], values[self.zero_point]).reshape(self.rows, -1)
        sums = exact_matmul(centered, self.centered_weights.T)
        return (sums.astype(np.int32).reshape(self.output.shape),)
