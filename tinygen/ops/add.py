"""Elementwise addition and subtraction."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import ScalingConstants
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.checks import check_scaling
from tinygen.ops.common_scale import CommonScaled
from tinygen.ops.requantize import Int64Array
from tinygen.ops.sum_or_product import Affine, SumOrProduct

LEFT_SHIFT = 20  # headroom given to both int8 inputs before they are brought to a common scale, as in TFLite
_LEFT_SHIFT_INT16 = 15


@dataclass(frozen=True, eq=False, kw_only=True)
class Add(CommonScaled, SumOrProduct):
    """output = first + second, broadcast as in numpy."""

    sign: int = 1  # of the second operand: -1 subtracts

    def with_constant(self, variable: Tensor) -> Affine:
        is_first = variable is self.first
        constant = self.second if is_first else self.first
        assert constant.data is not None
        summands, sign = constant.data.astype(np.float32), np.float32(self.sign)
        if is_first:
            return Affine(variable, None, summands * sign)
        return Affine(variable, None if self.sign > 0 else np.full((1,), sign), summands)

    @property
    def left_shift(self) -> int:
        return _LEFT_SHIFT_INT16 if self.output.type.dtype is DType.INT16 else LEFT_SHIFT

    def scale_of_result(self, common: float) -> float:
        return common / (1 << self.left_shift)

    @property
    def scaling_constants(self) -> ScalingConstants:
        scalings = (self.scales.first, self.scales.second, self.scales.output)
        multipliers, shifts = tuple(s.multiplier for s in scalings), tuple(s.shift for s in scalings)
        return ScalingConstants(multipliers, shifts, left_shift=self.left_shift)

    def verify(self) -> None:
        super().verify()
        if self.sign not in (1, -1):
            raise ValueError(f"sign is {self.sign}, 1 or -1 was expected")
        if not self.output.type.dtype.is_real:
            check_scaling("sum", self.scales.output, 0)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        scaled_first, scaled_second = self.scaled(first, second)
        return self.clamp.apply(self.stored(scaled_first + self.sign * scaled_second))

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        return self.clamp.apply_real(first + second if self.sign > 0 else first - second)
