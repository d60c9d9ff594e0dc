"""Elementwise addition and subtraction."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.answers import Point, ScalingConstants
from tinygen.ir.channels import Intervals
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.binary import Binary
from tinygen.ops.checks import check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

LEFT_SHIFT = 20  # headroom given to both int8 inputs before they are brought to a common scale, as in TFLite
_LEFT_SHIFT_INT16 = 15


@dataclass(frozen=True)
class CommonScale:
    """Multipliers that bring both inputs to twice the larger scale, and the sum to the output's scale."""

    first: Multiplier
    second: Multiplier
    output: Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class Add(Binary):
    """output = first + second, broadcast as in numpy."""

    takes_int16: ClassVar[bool] = True

    clamp: Clamp
    sign: int = 1  # of the second operand: -1 subtracts

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return self._at_corners(*operands)

    @property
    def left_shift(self) -> int:
        """Headroom given to both inputs."""
        return _LEFT_SHIFT_INT16 if self.output.type.dtype is DType.INT16 else LEFT_SHIFT

    @property
    def scales(self) -> CommonScale:
        """The requantization of both inputs and of the sum."""
        first, second, output = (t.type.scale for t in (self.first, self.second, self.output))
        twice_largest = 2.0 * max(first, second)
        return CommonScale(
            quantize_multiplier(first / twice_largest),
            quantize_multiplier(second / twice_largest),
            quantize_multiplier(twice_largest / ((1 << self.left_shift) * output)),
        )

    @property
    def scaling_constants(self) -> ScalingConstants:
        scalings = (self.scales.first, self.scales.second, self.scales.output)
        multipliers, shifts = tuple(s.multiplier for s in scalings), tuple(s.shift for s in scalings)
        return ScalingConstants(multipliers, shifts, left_shift=self.left_shift)

    def precision_points(self) -> tuple[Point, ...]:
        shift = Point("left_shift", f"operands << {self.left_shift}")
        scales = Point("rescale_operands", "each to twice the larger scale, rounded twice")
        return (*offsets(self.first, self.second), shift, scales, *requantized(self.output))

    def verify(self) -> None:
        super().verify()
        if self.sign not in (1, -1):
            raise ValueError(f"sign is {self.sign}, 1 or -1 was expected")
        if not self.output.type.dtype.is_real:
            check_scaling("sum", self.scales.output, 0)
        self.clamp.verify(self.output.type)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        scales = self.scales
        scaled_first = requantize(first << self.left_shift, scales.first.multiplier, scales.first.shift)
        scaled_second = requantize(second << self.left_shift, scales.second.multiplier, scales.second.shift)
        total = scaled_first + self.sign * scaled_second
        stored = requantize(total, scales.output.multiplier, scales.output.shift) + self.output.type.zero_point
        return self.clamp.apply(stored)

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        return self.clamp.apply_real(first + second if self.sign > 0 else first - second)
