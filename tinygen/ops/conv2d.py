"""2-D convolution with groups and dilation."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Values, recast
from tinygen.ir.rows import Channels, all_channels
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.accumulate import centered_weights, exact_matmul
from tinygen.ops.checks import check_groups
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import Int64Array
from tinygen.ops.ring_fully_connected import RingFullyConnected, product_on_ring
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.weighted import LayerKind, Reals
from tinygen.ops.window import NO_PADDING
from tinygen.ops.windowed import Convolution


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv2D(Convolution):
    """Convolution, weights [C_OUT, KH, KW, C_IN / groups]; groups follow from the channels."""

    layer_kind: ClassVar[LayerKind | None] = LayerKind.CONV_2D

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

    def as_product(self, of_windows: bool = False) -> FullyConnected | None:
        channels, height, width, depth = self.weights.shape
        is_whole = self.input.shape == (1, height, width, depth) and self.output.shape[1:3] == (1, 1)
        if not is_whole or self.padding != NO_PADDING or (height * width > 1) is not of_windows:
            return None
        if self.weights.data is None or self.weights.type.dtype is not DType.INT8:
            return None
        matrix = replace(self.weights.type, shape=(channels, height * width * depth))
        name = f"{self.weights.name}:matrix of {self.name}"
        return recast(self, FullyConnected, weights=Tensor(name, matrix, self.weights.data.reshape(matrix.shape)))

    def on_ring(self, ring: Ring) -> RingFullyConnected | None:
        channels, height, width, depth = self.weights.shape
        takes_whole_rows = self.input.shape[2:] == (width, depth) and self.padding == NO_PADDING
        if not takes_whole_rows or self.weights.data is None or (height > 1 and self.dilation.h > 1):
            return None
        matrix = replace(self.weights.type, shape=(channels, height * width * depth))
        weights = Tensor(f"{self.weights.name}:rows of {self.name}", matrix, self.weights.data.reshape(matrix.shape))
        return product_on_ring(self, ring, weights, self.stride.h)

    def weights_by_taps(self) -> Int64Array | None:
        if self.weights.data is None or self.groups != 1:
            return None
        return self.weights.data.astype(np.int64).reshape(self.channels, -1, self.input.shape[3])

    def sums_of_means(self, weights: Reals, means: Reals) -> Reals:
        taps = weights.sum(axis=(1, 2))  # [C_OUT, C_IN / groups]
        by_group = np.repeat(means.reshape(self.groups, -1), self.channels // self.groups, axis=0)
        sums: Reals = (taps * by_group).sum(axis=1)
        return sums

    @property
    def input_groups(self) -> int | None:
        return 1 if self.groups == 1 else None

    def inputs_of_weights(self, values: Reals, most: int) -> Reals:
        positions = self.spaced_patches(values, most)
        return positions.reshape(1, len(positions), -1)

    @property
    def has_sign_form(self) -> bool:
        return self.weights.is_constant and self.groups == 1

    def on_signs(self, depth: int) -> SignConv2D:  # noqa: ARG002 - the filters have it too
        return recast(self, SignConv2D)

    def verify(self) -> None:
        super().verify()
        check_groups(self.input.shape[3], self.channels, self.weights.shape[3])

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
