"""Depthwise convolution along the rows of a ring and new ones behind them."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_activations, check_filters, check_same_quantization, check_shape
from tinygen.ops.weighted import Weighted

MOST_TAPS = 32  # whose addresses kernels keep on the stack


@dataclass(frozen=True, eq=False, kw_only=True)
class RingDepthwiseConv2D(Weighted):
    """What a depthwise convolution without padding, weights [1, KH, 1, C], gives on rows that lie as `Ring` says."""

    ring: Tensor  # [1, rows, 1, C]
    place: Tensor  # [1], int32
    stride: int  # rows between outputs
    dilation: int  # rows between taps

    @property
    def rows_in_order(self) -> Ring:
        """What is convolved."""
        return Ring(self.ring, self.place, self.input)

    @property
    def taps(self) -> int:
        """Of each filter."""
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

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        self.rows_in_order.verify()
        check_activations(("ring", self.ring), ("input", self.input), ("output", self.output))
        check_same_quantization(self.ring, self.input)
        check_filters(self.weights, self.bias, self.output, self.channels, self.channel_axis)
        channels = self.ring.shape[3]
        check_shape("ring", self.ring, (1, self.ring.shape[1], 1, channels))
        check_shape("weights", self.weights, (1, self.taps, 1, channels))
        if not 0 < self.taps <= MOST_TAPS or self.stride < 1 or self.dilation < 1:
            raise ValueError(
                f"{self.taps} taps, stride {self.stride}, dilation {self.dilation}: at most {MOST_TAPS} taps and "
                "positive numbers were expected"
            )
        rows = self.rows_in_order.rows - (self.taps - 1) * self.dilation
        check_shape("output", self.output, (1, max(0, (rows - 1) // self.stride + 1), 1, channels))
        self.clamp.verify(self.output.type)
        if self.output.type.dtype is not DType.INT8:
            raise ValueError(f"output '{self.output.name}' is {self.output.type.dtype.value}, i8 was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        outputs = np.arange(self.output.shape[1])[:, np.newaxis] * self.stride
        rows = outputs + np.arange(self.taps) * self.dilation  # [outputs, taps]
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])
        centered = in_order[:, rows, 0].astype(np.int64) - self.input.type.zero_point
        sums = (centered * values[self.weights][:, :, 0].astype(np.int64)).sum(axis=2)
        return (self.output_stage.finish(sums[:, :, np.newaxis]),)
