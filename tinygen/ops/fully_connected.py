"""Fully connected layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.channels import channel_count
from tinygen.ir.graph import Values, recast
from tinygen.ir.rows import Channels, Rows, all_channels
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.accumulate import centered_weights, exact_matmul
from tinygen.ops.checks import check_activations, check_filters, check_rank
from tinygen.ops.constant_slices import constant_slice
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.requantize import Int64Array
from tinygen.ops.ring_fully_connected import RingFullyConnected, product_on_ring
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.weighted import LayerKind, Reals, Weighted, spaced


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnected(Weighted):
    """Matrix product; the input is seen as rows of `features`, whatever its shape."""

    layer_kind: ClassVar[LayerKind | None] = LayerKind.FULLY_CONNECTED
    has_narrow_form: ClassVar[bool] = True
    reads_any_shape: ClassVar[bool] = True

    input: Tensor  # [..., features] or any shape of rows * features elements
    weights: Tensor  # [units, features]

    @property
    def rows(self) -> int:
        """Input vectors, each multiplied by the same weights."""
        return self.input.type.elements // self.weights.shape[1]

    @property
    def input_axis(self) -> int:
        return 1

    @property
    def macs(self) -> int:
        return self.rows * self.weights.type.elements

    @property
    def convolution_form(self) -> ConvolutionForm:
        units, features = self.weights.shape
        return ConvolutionForm((self.rows, 1, 1, features), (units, 1, 1, features), (self.rows, 1, 1, units))

    def channel_links(self) -> None:
        return None

    def weights_by_taps(self) -> Int64Array | None:
        inputs = channel_count(self.input)
        if self.weights.data is None or channel_count(self.output) != self.channels:
            return None
        if inputs == 0 or self.weights.shape[1] % inputs:
            return None
        return self.weights.data.astype(np.int64).reshape(self.channels, -1, inputs)

    def sums_of_means(self, weights: Reals, means: Reals) -> Reals | None:
        turns, rest = divmod(weights.shape[1], means.size)
        return None if rest else weights @ np.tile(means, turns)

    @property
    def input_groups(self) -> int:
        return 1

    def inputs_of_weights(self, values: Reals, most: int) -> Reals:
        rows = values.reshape(1, -1, self.weights.shape[1])
        return rows[:, spaced(rows.shape[1], most)]

    @property
    def has_sign_form(self) -> bool:
        return self.weights.is_constant and self.weights.shape[1] % self.input.shape[-1] == 0

    def on_signs(self, depth: int) -> SignFullyConnected:
        return recast(self, SignFullyConnected, depth=depth)

    def on_ring(self, ring: Ring) -> RingFullyConnected | None:
        return product_on_ring(self, ring, self.weights, stride=1) if self.rows == 1 else None

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
