"""Square of the difference of two tensors."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.checks import check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.common_scale import CommonScaled
from tinygen.ops.precision import requantized
from tinygen.ops.requantize import Int64Array

_LEFT_SHIFT = 7  # headroom given to both int8 inputs: 255**2 << 14 still fits into 31 bits; int16 has none


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaredDifference(CommonScaled):
    """output = (first - second)**2, broadcast as in numpy."""

    takes_int16: ClassVar[bool] = True

    @property
    def left_shift(self) -> int:
        return 0 if self.output.type.dtype is DType.INT16 else _LEFT_SHIFT

    def scale_of_result(self, common: float) -> float:
        return common * common / (1 << 2 * self.left_shift)

    def precision_points(self) -> tuple[Point, ...]:
        return (*self.points_of_operands(), Point("product", "int32"), *requantized(self.output))

    def verify(self) -> None:
        super().verify()
        if not self.output.type.dtype.is_real:
            check_scaling("squared difference", self.scales.output, 0)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        scaled_first, scaled_second = self.scaled(first, second)
        difference = scaled_first - scaled_second
        return Clamp.none(self.output.type).apply(self.stored(difference * difference))

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        difference = first - second
        return difference * difference
