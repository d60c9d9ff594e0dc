"""Square of the difference of two tensors."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.add import CommonScale
from tinygen.ops.binary import Binary
from tinygen.ops.checks import check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array, quantize_multiplier, requantize

_LEFT_SHIFT = 7  # headroom given to both int8 inputs: 255**2 << 14 still fits into 31 bits; int16 has none


@dataclass(frozen=True, eq=False, kw_only=True)
class SquaredDifference(Binary):
    """output = (first - second)**2, broadcast as in numpy."""

    takes_int16: ClassVar[bool] = True

    @property
    def left_shift(self) -> int:
        """Headroom given to both inputs."""
        return 0 if self.output.type.dtype is DType.INT16 else _LEFT_SHIFT

    @property
    def scales(self) -> CommonScale:
        """The requantization of both inputs and of the squared difference."""
        first, second, output = (t.type.scale for t in (self.first, self.second, self.output))
        twice_largest = 2.0 * max(first, second)
        return CommonScale(
            quantize_multiplier(first / twice_largest),
            quantize_multiplier(second / twice_largest),
            quantize_multiplier(twice_largest * twice_largest / ((1 << 2 * self.left_shift) * output)),
        )

    def precision_points(self) -> tuple[Point, ...]:
        shift = Point("left_shift", f"operands << {self.left_shift}")
        scales = Point("rescale_operands", "each to twice the larger scale, rounded twice")
        square = Point("product", "int32")
        return (*offsets(self.first, self.second), shift, scales, square, *requantized(self.output))

    def verify(self) -> None:
        super().verify()
        if not self.output.type.dtype.is_real:
            check_scaling("squared difference", self.scales.output, 0)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        scales = self.scales
        scaled_first = requantize(first << self.left_shift, scales.first.multiplier, scales.first.shift)
        scaled_second = requantize(second << self.left_shift, scales.second.multiplier, scales.second.shift)
        difference = scaled_first - scaled_second
        square = requantize(difference * difference, scales.output.multiplier, scales.output.shift)
        return Clamp.none(self.output.type).apply(square + self.output.type.zero_point)

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        difference = first - second
        return difference * difference
