"""Convolutions of int8 with int32 results."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Values
from tinygen.ir.types import Array
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_groups, check_multiplier, check_rank
from tinygen.ops.integer_products import IntegerProducts
from tinygen.ops.windowed import Filtering


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerConvolution(Filtering, IntegerProducts):
    """Sums of products under a window; what lies in the padding adds nothing."""

    result_range: ClassVar[Range] = Range.OWN

    @property
    def channels(self) -> int:
        return self.weights.shape[self.channel_axis]

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_rank(role, tensor, 4)
        super().verify()
        IntegerProducts.verify(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerConv2D(IntegerConvolution):
    """Convolution, weights [C_OUT, KH, KW, C_IN / groups]; groups follow from the channels."""

    @property
    def groups(self) -> int:
        """Groups of input channels, each with its own filters."""
        return self.input.shape[3] // self.weights.shape[3]

    @property
    def macs(self) -> int:
        return self.output.type.elements * (self.weights.type.elements // self.channels)

    def verify(self) -> None:
        super().verify()
        check_groups(self.input.shape[3], self.channels, self.weights.shape[3])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        patches = self.window.patches(self.centered(values[self.input], values[self.zero_point]), 0)
        per_group, depth = self.channels // self.groups, self.weights.shape[3]
        parts = [
            exact_matmul(
                patches[..., g * depth : (g + 1) * depth].reshape(*patches.shape[:3], -1),
                self.centered_weights[g * per_group : (g + 1) * per_group].reshape(per_group, -1).T,
            )
            for g in range(self.groups)
        ]
        return (np.concatenate(parts, axis=-1).astype(np.int32),)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerDepthwiseConv2D(IntegerConvolution):
    """Depthwise convolution, weights [1, KH, KW, C_OUT]; channel c reads input channel c // multiplier."""

    @property
    def channel_axis(self) -> int:
        return 3

    @property
    def multiplier(self) -> int:
        """Output channels per input channel."""
        return self.channels // self.input.shape[3]

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.weights.shape[1] * self.weights.shape[2]

    def verify(self) -> None:
        super().verify()
        check_multiplier(self.weights, self.input.shape[3])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        patches = self.window.patches(self.centered(values[self.input], values[self.zero_point]), 0)
        spread = np.repeat(patches, self.multiplier, axis=-1)
        return ((spread * self.centered_weights[0]).sum(axis=(3, 4)).astype(np.int32),)
