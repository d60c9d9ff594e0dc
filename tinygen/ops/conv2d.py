"""2-D convolution with groups and dilation."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.rows import Channels, all_channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.accumulate import centered_weights, exact_matmul
from tinygen.ops.windowed import Convolution


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv2D(Convolution):
    """Convolution, weights [C_OUT, KH, KW, C_IN / groups]; groups follow from the channels."""

    @property
    def channel_axis(self) -> int:
        return 0

    @property
    def input_axis(self) -> int:
        return 3

    @property
    def groups(self) -> int:
        """Groups of input channels, each with its own filters."""
        return self.input.shape[3] // self.weights.shape[3]

    @property
    def macs(self) -> int:
        return self.output.type.elements * (self.weights.type.elements // self.weights.shape[0])

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - any need all
        return all_channels(operand) if self.groups == 1 and self.weights.is_constant else None

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        super().verify()
        channels, _, _, depth = self.weights.shape
        if depth == 0 or self.input.shape[3] % depth or not self.groups or channels % self.groups:
            raise ValueError(
                f"{self.input.shape[3]} input channels and {channels} filters of depth {depth} form no groups"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            return (self.output_stage.finish_real(self._real_sums(values)),)
        zero_point = self.input.type.zero_point
        patches = self.window.patches(values[self.input], zero_point).astype(np.int64) - zero_point
        weights = centered_weights(self.weights, values[self.weights])
        per_group = weights.shape[0] // self.groups
        depth = weights.shape[3]
        parts = [
            exact_matmul(
                patches[..., g * depth : (g + 1) * depth].reshape(*patches.shape[:3], -1),
                weights[g * per_group : (g + 1) * per_group].reshape(per_group, -1).T,
            )
            for g in range(self.groups)
        ]
        return (self.output_stage.finish(np.concatenate(parts, axis=-1)),)

    def _real_sums(self, values: Values) -> Float32Array:
        patches = self.window.patches(values[self.input], 0).astype(np.float32, copy=False)
        weights = values[self.weights].astype(np.float32, copy=False)
        per_group, depth = weights.shape[0] // self.groups, weights.shape[3]
        parts = [
            patches[..., g * depth : (g + 1) * depth].reshape(*patches.shape[:3], -1)
            @ weights[g * per_group : (g + 1) * per_group].reshape(per_group, -1).T
            for g in range(self.groups)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
