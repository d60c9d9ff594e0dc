"""Depthwise 2-D convolution with a channel multiplier."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.channels import Intervals, Link
from tinygen.ir.graph import Values
from tinygen.ir.rows import Channels, all_channels
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.accumulate import centered_weights
from tinygen.ops.checks import check_multiplier
from tinygen.ops.ring_depthwise_conv2d import MOST_TAPS, RingDepthwiseConv2D
from tinygen.ops.weighted import LayerKind, Reals, spaced
from tinygen.ops.window import NO_PADDING
from tinygen.ops.windowed import Convolution


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConv2D(Convolution):
    """Depthwise convolution, weights [1, KH, KW, C_OUT]; channel c reads input channel c // multiplier."""

    layer_kind: ClassVar[LayerKind | None] = LayerKind.DEPTHWISE_CONV_2D

    @property
    def channel_axis(self) -> int:
        return 3

    @property
    def input_axis(self) -> int:
        return 0

    @property
    def multiplier(self) -> int:
        """Output channels per input channel."""
        return self.weights.shape[3] // self.input.shape[3]

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.weights.shape[1] * self.weights.shape[2]

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:
        if not self.weights.is_constant or (self.multiplier > 1 and operand.shape[3] > 1):
            return None
        return all_channels(operand) if operand.shape[3] == 1 else channels

    def channel_links(self) -> tuple[Link, ...]:
        channels = self.input.shape[3]
        return (Link(self.input, np.repeat(np.arange(channels), self.multiplier), is_broadcast=channels == 1),)

    def sums_of_means(self, weights: Reals, means: Reals) -> Reals:
        sums: Reals = weights.sum(axis=(0, 1, 2)) * np.repeat(means, self.multiplier)
        return sums

    @property
    def input_groups(self) -> int | None:
        return self.channels if self.multiplier == 1 else None

    def inputs_of_weights(self, values: Reals, most: int) -> Reals:
        positions = self.spaced_patches(values, most)
        by_channel = positions.reshape(len(positions), -1, positions.shape[-1]).transpose(2, 0, 1)
        return by_channel[:, spaced(len(positions), most)]

    def channel_intervals(self, operands: list[Intervals]) -> Intervals | None:
        if self.weights.data is None or (self.bias is not None and self.bias.data is None):
            return None
        if self.output_stage.has_long_sums:
            return None
        zero_point = self.input.type.zero_point
        seen = operands[0] if self.padding == NO_PADDING else operands[0].including(zero_point)
        centered = seen.each(lambda ends: ends - zero_point)
        weights = centered_weights(self.weights, self.weights.data).reshape(-1, self.channels).astype(np.int64)
        positive, negative = np.maximum(weights, 0).sum(axis=0), np.minimum(weights, 0).sum(axis=0)
        bias = self.output_stage.biases(self.channels)
        low = positive * centered.low + negative * centered.high + bias
        return self.output_stage.stored(Intervals(low, positive * centered.high + negative * centered.low + bias))

    def on_ring(self, ring: Ring) -> RingDepthwiseConv2D | None:
        is_plain = self.weights.is_constant and self.weights.coding is None
        is_int8 = all(tensor.type.dtype is DType.INT8 for tensor in (self.input, self.weights, self.output))
        is_line = self.input.shape[2] == 1 and self.padding == NO_PADDING
        if not (is_plain and is_int8 and is_line) or self.multiplier != 1 or self.weights.shape[1] > MOST_TAPS:
            return None
        return RingDepthwiseConv2D(
            name=self.name,
            source=self.source,
            input=ring.new,
            weights=self.weights,
            bias=self.bias,
            output=self.output,
            clamp=self.clamp,
            ring=ring.kept,
            place=ring.place,
            stride=self.stride.h,
            dilation=self.dilation.h,
        )

    def verify(self) -> None:
        super().verify()
        check_multiplier(self.weights, self.input.shape[3])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            return (self.output_stage.finish_real(self._real_sums(values)),)
        zero_point = self.input.type.zero_point
        patches = self.window.patches(values[self.input], zero_point).astype(np.int64) - zero_point
        spread = np.repeat(patches, self.multiplier, axis=-1) if self.multiplier > 1 else patches
        accumulators = (spread * centered_weights(self.weights, values[self.weights])[0].astype(np.int64)).sum(
            axis=(3, 4)
        )
        return (self.output_stage.finish(accumulators),)

    def _real_sums(self, values: Values) -> Float32Array:
        """Tap by tap: no copy of the input per tap, as patches would be."""
        window = self.window
        input, weights = values[self.input].astype(np.float32, copy=False), values[self.weights]
        spread = np.repeat(input, self.multiplier, axis=-1) if self.multiplier > 1 else input
        sums = np.zeros(self.output.shape, np.float32)
        for tap, taken in window.taps(spread, self.output.shape):
            sums += taken * weights[0, tap.h, tap.w].astype(np.float32)
        return sums
