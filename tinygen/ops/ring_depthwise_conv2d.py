"""Depthwise convolution along the rows of a ring and new ones behind them."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.stream import Ring
from tinygen.ir.types import Array
from tinygen.ops.checks import check_shape
from tinygen.ops.ring_reader import RingLayer

MOST_TAPS = 32  # whose addresses kernels keep on the stack


@dataclass(frozen=True, eq=False, kw_only=True)
class RingDepthwiseConv2D(RingLayer):
    """What a depthwise convolution without padding, weights [1, KH, 1, C], gives on rows of [1, C]."""

    @property
    def taps(self) -> int:
        return self.weights.shape[1]

    @property
    def channel_axis(self) -> int:
        return 3

    @property
    def input_axis(self) -> int:
        return 0

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.taps

    def _verify_rows(self) -> None:
        channels = self.ring.shape[3]
        check_shape("ring", self.ring, (1, self.ring.shape[1], 1, channels))
        check_shape("weights", self.weights, (1, self.taps, 1, channels))
        if not 0 < self.taps <= MOST_TAPS or self.stride < 1 or self.dilation < 1:
            raise ValueError(
                f"{self.taps} taps, stride {self.stride}, dilation {self.dilation}: at most {MOST_TAPS} taps and "
                "positive numbers were expected"
            )
        check_shape("output", self.output, (1, self.outputs, 1, channels))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        outputs = np.arange(self.output.shape[1])[:, np.newaxis] * self.stride
        rows = outputs + np.arange(self.taps) * self.dilation  # [outputs, taps]
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])
        centered = in_order[:, rows, 0].astype(np.int64) - self.input.type.zero_point
        sums = (centered * values[self.weights][:, :, 0].astype(np.int64)).sum(axis=2)
        return (self.output_stage.finish(sums[:, :, np.newaxis]),)
