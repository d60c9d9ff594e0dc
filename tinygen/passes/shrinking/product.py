"""Convolutions and fully connected layers as sums over taps and input channels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.channels import IndexArray
from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.requantize import Int64Array
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False)
class Product:
    """An operator whose output channels depend on all input channels: weights [outputs, taps, inputs]."""

    op: Weighted
    weights: Int64Array

    @property
    def stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return self.op.output_stage

    @cached_property
    def bias(self) -> Int64Array:
        """The bias of each output channel, zeros where the operator has none."""
        return self.stage.biases(len(self.weights))


def added_up(weights: Int64Array, inputs: IndexArray) -> Int64Array:
    """Weights [outputs, taps, inputs] with those of each input channel added to the ones of the channel in `inputs`."""
    sums = np.zeros_like(weights)
    np.add.at(sums.T, inputs, weights.T)
    return sums


_OTHER = (DType.UINT8, DType.INT32)  # types of weights that are left as they are


def product(op: Op) -> Product | None:
    """The operator as a product; None for others, and where the bias or the channels cannot be told apart."""
    if not isinstance(op, Weighted) or op.input.type.dtype is not DType.INT8 or op.weights.type.dtype in _OTHER:
        return None
    weights = op.weights_by_taps()
    is_known = weights is not None and (op.bias is None or op.bias.data is not None)
    return Product(op, weights) if is_known and weights is not None else None
