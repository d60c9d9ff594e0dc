"""Depthwise 2-D convolution with a channel multiplier."""

from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape, check_symmetric
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW, Padding, Window


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConv2D(Op):
    """int8 depthwise convolution; output channel c reads input channel c // multiplier."""

    input: Tensor  # [N, H, W, C_IN]
    weights: Tensor  # [1, KH, KW, C_OUT]
    bias: Tensor | None  # [C_OUT], int32
    output: Tensor  # [N, OH, OW, C_OUT]
    stride: HW
    dilation: HW
    padding: Padding
    clamp: Clamp

    @property
    def window(self) -> Window:
        """How the filter moves over the input."""
        _, height, width, _ = self.weights.shape
        return Window(HW(height, width), self.stride, self.dilation, self.padding)

    @property
    def multiplier(self) -> int:
        """Output channels per input channel."""
        return self.weights.shape[3] // self.input.shape[3]

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def macs(self) -> int:
        return self.output.type.elements * self.weights.shape[1] * self.weights.shape[2]

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_rank(role, tensor, 4)
        channels = self.weights.shape[3]
        check_per_tensor("input", self.input)
        check_per_tensor("output", self.output)
        check_symmetric("weights", self.weights, channels, axis=3)
        if self.input.shape[3] == 0 or channels % self.input.shape[3] or self.weights.shape[0] != 1:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit {self.input.shape[3]} input channels, "
                "[1, KH, KW, multiplier * channels] was expected"
            )
        if self.bias is not None:
            check_dtype("bias", self.bias, DType.INT32)
            check_shape("bias", self.bias, (channels,))
        self.window.verify(self.input.shape, self.output.shape)
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], channels))
        self.clamp.verify(self.output.type)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return self.window.rows_needed(rows, self.input.shape[1])

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        padding = self.window.padding_of(rows, self.input.shape[1])
        return replace(tile, op=replace(tile.op, padding=padding))  # type: ignore[call-arg]

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        zero_point = self.input.type.zero_point
        patches = self.window.patches(values[self.input], zero_point).astype(np.int64) - zero_point
        spread = np.repeat(patches, self.multiplier, axis=-1)
        accumulators = (spread * values[self.weights][0].astype(np.int64)).sum(axis=(3, 4))
        return (self.output_stage.finish(accumulators),)
