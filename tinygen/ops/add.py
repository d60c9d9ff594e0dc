"""Elementwise addition and subtraction of quantized tensors."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

LEFT_SHIFT = 20  # headroom given to both inputs before they are brought to a common scale, as in TFLite


@dataclass(frozen=True)
class CommonScale:
    """Multipliers that bring both inputs to twice the larger scale, and the sum to the output's scale."""

    first: Multiplier
    second: Multiplier
    output: Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class Add(Op):
    """output = first + second, broadcast as in numpy."""

    first: Tensor
    second: Tensor
    output: Tensor
    clamp: Clamp
    sign: int = 1  # of the second operand: -1 subtracts

    @property
    def scales(self) -> CommonScale:
        """The requantization of both inputs and of the sum."""
        first, second, output = (t.type.scale for t in (self.first, self.second, self.output))
        twice_largest = 2.0 * max(first, second)
        return CommonScale(
            quantize_multiplier(first / twice_largest),
            quantize_multiplier(second / twice_largest),
            quantize_multiplier(twice_largest / ((1 << LEFT_SHIFT) * output)),
        )

    def verify(self) -> None:
        for role, tensor in (("first", self.first), ("second", self.second), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_per_tensor(role, tensor)
        check_shape("output", self.output, np.broadcast_shapes(self.first.shape, self.second.shape))
        if self.sign not in (1, -1):
            raise ValueError(f"sign is {self.sign}, 1 or -1 was expected")
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        scales = self.scales
        first = _scaled(values[self.first], self.first, scales.first)
        second = _scaled(values[self.second], self.second, scales.second)
        total = first + self.sign * second
        stored = (
            requantize(total, scales.output.multiplier, scales.output.shift) + self.output.type.zero_point
        )
        return (self.clamp.apply(stored).astype(np.int8),)


def _scaled(stored: Array, tensor: Tensor, multiplier: Multiplier) -> Int64Array:
    shifted = (stored.astype(np.int64) - tensor.type.zero_point) << LEFT_SHIFT
    return requantize(shifted, multiplier.multiplier, multiplier.shift)
