"""Fully connected layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Filters, Range, ScalingConstants
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Channels, Rows, all_channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.accumulate import OutputStage, centered_weights, exact_matmul
from tinygen.ops.checks import check_activations, check_filters, check_rank
from tinygen.ops.clamp import Clamp
from tinygen.ops.constant_slices import constant_slice


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnected(Op):
    """Matrix product; the input is seen as rows of `features`, whatever its shape."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [..., features] or any shape of rows * features elements
    weights: Tensor  # [units, features]
    bias: Tensor | None  # [units], int32, of int16 int64, or float32
    output: Tensor  # [..., units]
    clamp: Clamp

    @property
    def rows(self) -> int:
        """Input vectors, each multiplied by the same weights."""
        return self.input.type.elements // self.weights.shape[1]

    @property
    def filters(self) -> Filters:
        return Filters(self.weights, self.bias, 0, 1)

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def scaling_constants(self) -> ScalingConstants:
        return self.output_stage.scaling_constants()

    @property
    def macs(self) -> int:
        return self.rows * self.weights.type.elements

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        check_activations(("input", self.input), ("output", self.output))
        check_filters(self.weights, self.bias, self.output, units, axis=0, takes_zero_points=True)
        if features == 0 or self.input.type.elements % features or self.output.type.elements != self.rows * units:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit input {list(self.input.shape)} "
                f"and output {list(self.output.shape)}"
            )
        self.output_stage.verify()
        self.clamp.verify(self.output.type)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        is_pointwise = operand.shape[:-1] == self.output.shape[:-1]
        return rows if is_pointwise else None

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - any need all
        counts_units = self.output.shape[-1:] == self.weights.shape[:1]
        return all_channels(operand) if counts_units and self.weights.is_constant else None

    def constant_slices(self, channels: Channels) -> Mapping[Tensor, Tensor]:
        found = {self.weights: constant_slice(self.weights, channels, 0)}
        return found if self.bias is None else {**found, self.bias: constant_slice(self.bias, channels)}

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            rows = values[self.input].reshape(self.rows, -1).astype(np.float32, copy=False)
            sums = rows @ values[self.weights].astype(np.float32, copy=False).T
            return (self.output_stage.finish_real(sums).reshape(self.output.shape),)
        vectors = values[self.input].reshape(self.rows, -1).astype(np.int64) - self.input.type.zero_point
        accumulators = exact_matmul(vectors, centered_weights(self.weights, values[self.weights]).T)
        return (self.output_stage.finish(accumulators).reshape(self.output.shape),)
