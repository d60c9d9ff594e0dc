"""Transposed 2-D convolution."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import OutputStage, exact_matmul
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape, check_symmetric
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeConv2D(Op):
    """int8 transposed convolution: each input pixel adds its weighted filter to the output.

    Input pixel (y, x) reaches the outputs from (y * stride.h - top, x * stride.w - left) on; what falls outside of the
    output is dropped, outputs that nothing reaches hold the bias.
    """

    input: Tensor  # [N, H, W, C_IN]
    weights: Tensor  # [C_OUT, KH, KW, C_IN]
    bias: Tensor | None  # [C_OUT], int32
    output: Tensor  # [N, OH, OW, C_OUT]
    stride: HW
    top: int  # output rows dropped at the top
    left: int  # output columns dropped at the left
    clamp: Clamp

    @property
    def kernel(self) -> HW:
        """Size of the filters."""
        return HW(*self.weights.shape[1:3])

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def macs(self) -> int:
        return self.input.type.elements * (self.weights.type.elements // self.weights.shape[3])

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_rank(role, tensor, 4)
            if tensor.type.elements == 0:
                raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, without any element")
        channels = self.weights.shape[0]
        check_per_tensor("input", self.input)
        check_per_tensor("output", self.output)
        check_symmetric("weights", self.weights, channels, axis=0)
        check_shape("weights", self.weights, (*self.weights.shape[:3], self.input.shape[3]))
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], channels))
        if self.bias is not None:
            check_dtype("bias", self.bias, DType.INT32)
            check_shape("bias", self.bias, (channels,))
        if min(self.stride.h, self.stride.w) < 1 or min(self.top, self.left) < 0:
            raise ValueError(f"stride {self.stride} must be at least 1, padding {self.top}, {self.left} at least 0")
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        image = values[self.input].astype(np.int64) - self.input.type.zero_point
        batches, height, width, _ = image.shape
        channels, _, _, _ = self.weights.shape
        _, out_height, out_width, _ = self.output.shape
        rows = max((height - 1) * self.stride.h + self.kernel.h, self.top + out_height)
        columns = max((width - 1) * self.stride.w + self.kernel.w, self.left + out_width)
        canvas = np.zeros((batches, rows, columns, channels), np.int64)
        for y, x in np.ndindex(self.kernel.h, self.kernel.w):
            reached = canvas[:, y :: self.stride.h, x :: self.stride.w][:, :height, :width]
            reached += exact_matmul(image, values[self.weights][:, y, x, :].T)
        accumulators = canvas[:, self.top : self.top + out_height, self.left : self.left + out_width]
        return (self.output_stage.finish(accumulators),)
