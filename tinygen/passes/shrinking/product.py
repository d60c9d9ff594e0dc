"""Convolutions and fully connected layers as sums over taps and input channels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.channels import IndexArray, channel_count
from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import Int64Array
from tinygen.ops.window import NO_PADDING


@dataclass(frozen=True, eq=False)
class Product:
    """An operator whose output channels depend on all input channels: weights [outputs, taps, inputs]."""

    op: Conv2D | FullyConnected
    weights: Int64Array

    @property
    def stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return self.op.output_stage

    @property
    def is_padded(self) -> bool:
        """Whether some taps may meet padding, which stands for the input's zero point."""
        return isinstance(self.op, Conv2D) and self.op.padding != NO_PADDING

    @cached_property
    def bias(self) -> Int64Array:
        """The bias of each output channel, zeros where the operator has none."""
        return self.stage.biases(len(self.weights))


def added_up(weights: Int64Array, inputs: IndexArray) -> Int64Array:
    """Weights [outputs, taps, inputs] with those of each input channel added to the ones of the channel in `inputs`."""
    sums = np.zeros_like(weights)
    np.add.at(sums.T, inputs, weights.T)
    return sums


def product(op: Op) -> Product | None:
    """The operator as a product; None for others, and where the bias or the channels cannot be told apart."""
    if not isinstance(op, Conv2D | FullyConnected) or op.weights.data is None or op.weights.type.dtype is DType.UINT8:
        return None
    if op.input.type.dtype is not DType.INT8 or (op.bias is not None and op.bias.data is None):
        return None
    inputs, outputs = channel_count(op.input), op.weights.shape[0]
    if channel_count(op.output) != outputs or inputs == 0 or op.weights.shape[-1] % inputs:
        return None
    return Product(op, op.weights.data.astype(np.int64).reshape(outputs, -1, inputs))
