"""2-D convolution with groups and dilation."""

from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import OutputStage, exact_matmul
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape, check_symmetric
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW, Padding, Window


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv2D(Op):
    """int8 convolution; groups follow from the channels of input and weights."""

    input: Tensor  # [N, H, W, C_IN]
    weights: Tensor  # [C_OUT, KH, KW, C_IN / groups]
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
    def groups(self) -> int:
        """Groups of input channels, each with its own filters."""
        return self.input.shape[3] // self.weights.shape[3]

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def macs(self) -> int:
        return self.output.type.elements * (self.weights.type.elements // self.weights.shape[0])

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_rank(role, tensor, 4)
        channels, _, _, depth = self.weights.shape
        check_per_tensor("input", self.input)
        check_per_tensor("output", self.output)
        check_symmetric("weights", self.weights, channels, axis=0)
        if depth == 0 or self.input.shape[3] % depth or channels % self.groups:
            raise ValueError(
                f"{self.input.shape[3]} input channels and {channels} filters of depth {depth} form no groups"
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
        weights = values[self.weights]
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
