"""What operators on two tensors share that bring both to one scale before they combine them."""

from dataclasses import dataclass

from tinygen.ir.answers import Point
from tinygen.ops.binary import Binary
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize


@dataclass(frozen=True)
class CommonScale:
    """Multipliers that bring both inputs to twice the larger scale, and what is made of them to the output's scale."""

    first: Multiplier
    second: Multiplier
    output: Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class CommonScaled(Binary):
    """One that adds or subtracts at twice the larger of both scales, which leaves a bit for the sum, as TFLite has it.

    Subclasses say with how much headroom, and what becomes of the scale in their result.
    """

    @property
    def left_shift(self) -> int:
        """Headroom given to both inputs, in bits."""
        raise NotImplementedError(f"{type(self).__name__} does not say its headroom")

    def scale_of_result(self, common: float) -> float:
        """The real number that 1 stands for in what is made of operands of scale `common`."""
        raise NotImplementedError(f"{type(self).__name__} does not say the scale of its result for {common}")

    @property
    def scales(self) -> CommonScale:
        """The requantization of both inputs and of the result."""
        first, second, output = (t.type.scale for t in (self.first, self.second, self.output))
        twice_largest = 2.0 * max(first, second)
        return CommonScale(
            quantize_multiplier(first / twice_largest),
            quantize_multiplier(second / twice_largest),
            quantize_multiplier(self.scale_of_result(twice_largest) / output),
        )

    def scaled(self, first: Int64Array, second: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Stored inputs minus their zero points, both at the common scale."""
        scales = self.scales
        return (
            requantize(first << self.left_shift, scales.first.multiplier, scales.first.shift),
            requantize(second << self.left_shift, scales.second.multiplier, scales.second.shift),
        )

    def stored(self, result: Int64Array) -> Int64Array:
        """What is made of both, as the output stores it, of any size."""
        scaling = self.scales.output
        return requantize(result, scaling.multiplier, scaling.shift) + self.output.type.zero_point

    def points_of_operands(self) -> tuple[Point, ...]:
        """The precision of the operands until they are combined."""
        shift = Point("left_shift", f"operands << {self.left_shift}")
        scales = Point("rescale_operands", "each to twice the larger scale, rounded twice")
        return (*offsets(self.first, self.second), shift, scales)

    def precision_points(self) -> tuple[Point, ...]:
        return (*self.points_of_operands(), *requantized(self.output))
