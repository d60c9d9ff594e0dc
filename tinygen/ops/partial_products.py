"""Layers computed as their input comes, by rows or by channels: int32 sums, requantized once.

By rows, a fully connected layer's weights for some rows lie apart, one stretch for each unit. Which stretch is next is
counted behind the sums, so that every call but the first is the same. By channels, each slice has weights of its own:
those of the layer in another order.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Filters, Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_dtype, check_rank, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import ACCUMULATOR, bias_points, offsets, requantized, weights_point
from tinygen.ops.requantize import requantize, with_zero_point, wrap_int32


@dataclass(frozen=True, eq=False, kw_only=True)
class AddProducts(Op):
    """output = before + weights[:, first : first + n] @ (n elements of `input` minus the zero point), and a count.

    The count stands behind the sums, in features: up to where they have come, or where `descending`, down to where.
    Without `before` sums start at 0 and the input's features at `first_feature`; else they go on where the count says.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, H, W, C], int8
    weights: Tensor  # [units, features], int8
    before: Tensor | None  # [1, 1, 1, units + 1], int32
    output: Tensor  # [1, 1, 1, units + 1], int32
    first_feature: int
    descending: bool

    @property
    def filters(self) -> Filters:
        return Filters(self.weights, None, 0)

    @property
    def macs(self) -> int:
        return self.weights.shape[0] * self.input.type.elements

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.input), weights_point(self.weights), ACCUMULATOR)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8)
        check_dtype("weights", self.weights, DType.INT8)
        check_dtype("output", self.output, DType.INT32)
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        check_shape("output", self.output, (1, 1, 1, units + 1))
        if self.before is not None:
            check_shape("before", self.before, self.output.shape)
        if not 0 <= self.first_feature <= features - self.input.type.elements:
            raise ValueError(
                f"features {self.first_feature} to {self.first_feature + self.input.type.elements - 1} were asked for, "
                f"the weights have {features}"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        features = values[self.input].reshape(-1).astype(np.int64) - self.input.type.zero_point
        first, sums = self.first_feature, np.zeros(self.weights.shape[0], np.int64)
        if self.before is not None:
            *before, count = values[self.before].reshape(-1).astype(np.int64)
            first, sums = int(count) - (features.size if self.descending else 0), np.array(before)
        part = values[self.weights][:, first : first + features.size]
        sums = wrap_int32(sums + exact_matmul(part, features))
        come_to = first if self.descending else first + features.size
        return (np.array([*sums, come_to], np.int32).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddChannelProducts(Op):
    """output = before + input @ weights.T, of stored values; without `before` sums start at 0.

    What the zero point adds to the sums is part of the bias that `ScaleProducts` adds.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # vectors * features elements, int8
    weights: Tensor  # [units, features], int8
    before: Tensor | None  # [1, H, W, units] with H * W vectors, int32
    output: Tensor  # [1, H, W, units], int32

    @property
    def filters(self) -> Filters:
        return Filters(self.weights, None, 0)

    @property
    def vectors(self) -> int:
        """How many vectors are multiplied with the same weights."""
        return self.input.type.elements // self.weights.shape[1]

    @property
    def macs(self) -> int:
        return self.vectors * self.weights.type.elements

    def precision_points(self) -> tuple[Point, ...]:
        return (weights_point(self.weights), ACCUMULATOR)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8)
        check_dtype("weights", self.weights, DType.INT8)
        check_dtype("output", self.output, DType.INT32)
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        if self.input.type.elements % features or self.output.type.elements != self.vectors * units:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit input {list(self.input.shape)} "
                f"and output {list(self.output.shape)}"
            )
        if self.before is not None:
            check_shape("before", self.before, self.output.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        vectors = values[self.input].reshape(self.vectors, -1)
        sums = exact_matmul(vectors, values[self.weights].T).reshape(self.output.shape)
        if self.before is not None:
            sums = sums + values[self.before].astype(np.int64)
        return (wrap_int32(sums).astype(np.int32),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleProducts(Op):
    """The sums plus bias, requantized per unit: what the layer does with all features at once."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, H, W, units], int32; elements behind those of the output are not read
    bias: Tensor | None  # [units], int32
    output: Tensor  # vectors * units elements, int8
    multipliers: tuple[int, ...]  # one for each unit
    shifts: tuple[int, ...]
    clamp: Clamp

    def precision_points(self) -> tuple[Point, ...]:
        return (*bias_points(self.bias), *requantized(self.output))

    def channel_links(self) -> None:
        return None

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        return rows if operand.shape == self.output.shape else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        units = len(self.multipliers)
        sums = values[self.input].reshape(-1)[: self.output.type.elements].reshape(-1, units).astype(np.int64)
        if self.bias is not None:
            sums = sums + values[self.bias].astype(np.int64)
        scaled = requantize(wrap_int32(sums), np.array(self.multipliers), np.array(self.shifts))
        stored = self.clamp.apply(with_zero_point(scaled, self.output.type.zero_point))
        return (stored.astype(np.int8).reshape(self.output.shape),)
