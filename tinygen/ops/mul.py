"""Elementwise multiplication."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, ScalingConstants
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.checks import check_scaling
from tinygen.ops.precision import offsets, requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize
from tinygen.ops.sum_or_product import Affine, SumOrProduct

_MAX_SHIFT = 14  # of int8: 255 * 255 << 14 fits into 31 bits; products of int16 take those already


@dataclass(frozen=True, eq=False, kw_only=True)
class Mul(SumOrProduct):
    """output = first * second, broadcast as in numpy."""

    scales_in_float: ClassVar[bool] = True

    def with_constant(self, variable: Tensor) -> Affine:
        constant = self.second if variable is self.first else self.first
        assert constant.data is not None
        return Affine(variable, constant.data.astype(np.float32), None)

    @property
    def scaling(self) -> Multiplier:
        """From the product's scale to the output's; in float32, as LiteRT has it."""
        first, second, output = (np.float32(t.type.scale) for t in (self.first, self.second, self.output))
        return quantize_multiplier(float(first * second / output))

    @property
    def scaling_constants(self) -> ScalingConstants:
        return ScalingConstants((self.scaling.multiplier,), (self.scaling.shift,))

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.first, self.second), Point("product", "int32"), *requantized(self.output))

    def verify(self) -> None:
        super().verify()
        if not self.output.type.dtype.is_real:
            check_scaling("product", self.scaling, 0 if self.output.type.dtype is DType.INT16 else _MAX_SHIFT)

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        scaling = self.scaling
        product = requantize(first * second, scaling.multiplier, scaling.shift)
        return self.clamp.apply(product + self.output.type.zero_point)

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        return self.clamp.apply_real(first * second)
