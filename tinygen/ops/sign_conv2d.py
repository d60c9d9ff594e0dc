"""2-D convolution of signs with signs."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.signs import unpack_signs, words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_dtype, check_filters, check_numbers, check_rank, check_shape, check_signs
from tinygen.ops.precision import products_of_signs
from tinygen.ops.weighted import Weighted
from tinygen.ops.windowed import Filtering, Windowed


@dataclass(frozen=True, eq=False, kw_only=True)
class SignConv2D(Weighted, Filtering, Windowed):
    """Convolution without groups; outside of the input lie real zeros, which no sign is."""

    input: Tensor  # [N, H, W, words of C_IN], signs
    weights: Tensor  # [C_OUT, KH, KW, C_IN], int1

    @property
    def macs(self) -> int:
        return self.output.type.elements * (self.weights.type.elements // self.channels)

    def precision_points(self) -> tuple[Point, ...]:
        return products_of_signs(self.input, self.weights, self.bias, self.output)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_rank(role, tensor, 4)
        check_dtype("input", self.input, DType.SIGNS)
        check_signs("input", self.input)
        check_dtype("weights", self.weights, DType.INT1)
        check_numbers(("output", self.output))
        check_filters(self.weights, self.bias, self.output, self.channels, axis=0)
        batches, height, width, _ = self.input.shape
        check_shape("input", self.input, (batches, height, width, words_of(self.weights.shape[3])))
        self.window.verify(self.input.shape, self.output.shape)
        check_shape("output", self.output, (batches, *self.output.shape[1:3], self.channels))
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        depth = self.weights.shape[3]
        centered = unpack_signs(values[self.input].astype(np.uint32), depth) - self.input.type.zero_point
        patches = self.window.patches(centered, 0)
        rows = patches.reshape(*patches.shape[:3], -1)
        return (self.output_stage.finish(exact_matmul(rows, values[self.weights].reshape(self.channels, -1).T)),)
