"""What convolutions and pools share: a window that moves over an NHWC image."""

from dataclasses import dataclass, replace
from functools import cached_property

from tinygen.ir.graph import Op, Tile
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape, check_symmetric
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW, Padding, Window


@dataclass(frozen=True, eq=False, kw_only=True)
class Windowed(Op):
    """An operator whose output pixel depends on the input pixels under a window."""

    input: Tensor  # [N, H, W, C_IN]
    output: Tensor  # [N, OH, OW, C_OUT]
    stride: HW
    padding: Padding
    clamp: Clamp

    @cached_property
    def window(self) -> Window:
        """How the window moves over the input."""
        raise NotImplementedError

    @property
    def channels(self) -> int:
        """Output channels."""
        raise NotImplementedError

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8)
        check_dtype("output", self.output, DType.INT8)
        check_per_tensor("input", self.input)
        check_per_tensor("output", self.output)
        self.window.verify(self.input.shape, self.output.shape)
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], self.channels))
        self.clamp.verify(self.output.type)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return self.window.rows_needed(rows, self.input.shape[1])

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        padding = self.window.padding_of(rows, self.input.shape[1])
        return replace(tile, op=replace(tile.op, padding=padding))  # type: ignore[call-arg]


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(Windowed):
    """An int8 convolution: filters with a bias, requantized per output channel."""

    weights: Tensor  # filters; which axis counts output channels is the subclass's to say
    bias: Tensor | None  # [C_OUT], int32
    dilation: HW

    @cached_property
    def window(self) -> Window:
        _, height, width, _ = self.weights.shape
        return Window(HW(height, width), self.stride, self.dilation, self.padding)

    @property
    def channel_axis(self) -> int:
        """The axis of the weights that counts output channels."""
        raise NotImplementedError

    @property
    def channels(self) -> int:
        return self.weights.shape[self.channel_axis]

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_rank(role, tensor, 4)
        check_symmetric("weights", self.weights, self.channels, self.channel_axis)
        if self.bias is not None:
            check_dtype("bias", self.bias, DType.INT32)
            check_shape("bias", self.bias, (self.channels,))
        super().verify()
