"""Fully connected layer of signs with signs."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.signs import unpack_signs, words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_dtype, check_filters, check_numbers, check_rank, check_signs
from tinygen.ops.precision import products_of_signs
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class SignFullyConnected(Weighted):
    """Matrix product; features are those of all pixels of a row, one pixel after the other."""

    input: Tensor  # rows * pixels * words of depth, signs
    weights: Tensor  # [units, pixels * depth], int1
    output: Tensor  # [..., units]
    depth: int  # channels of a pixel

    @property
    def pixels(self) -> int:
        """Of a row."""
        return self.weights.shape[1] // self.depth

    @property
    def rows(self) -> int:
        """Input vectors, each multiplied by the same weights."""
        return self.input.type.elements // (self.pixels * words_of(self.depth))

    @property
    def macs(self) -> int:
        return self.rows * self.weights.type.elements

    def precision_points(self) -> tuple[Point, ...]:
        return products_of_signs(self.input, self.weights, self.bias, self.output)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_rank("weights", self.weights, 2)
        check_dtype("input", self.input, DType.SIGNS)
        check_signs("input", self.input)
        check_dtype("weights", self.weights, DType.INT1)
        check_numbers(("output", self.output))
        units, features = self.weights.shape
        check_filters(self.weights, self.bias, self.output, units, axis=0)
        if features % self.depth or self.rows * self.pixels * words_of(self.depth) != self.input.type.elements:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit signs {list(self.input.shape)} of {self.depth} channels"
            )
        if self.output.type.elements != self.rows * units:
            raise ValueError(f"output {list(self.output.shape)} does not fit {self.rows} rows of {units} units")
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        words = values[self.input].astype(np.uint32).reshape(-1, words_of(self.depth))
        centered = unpack_signs(words, self.depth) - self.input.type.zero_point
        sums = exact_matmul(centered.reshape(self.rows, -1), values[self.weights].T)
        return (self.output_stage.finish(sums).reshape(self.output.shape),)
