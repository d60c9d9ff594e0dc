"""Elementwise maximum and minimum."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Intervals
from tinygen.ir.types import Float32Array
from tinygen.ops.binary import Binary
from tinygen.ops.checks import check_same_quantization
from tinygen.ops.requantize import Int64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class _Extremum(Binary):
    """One of two stored values: all tensors have the same quantization."""

    result_range: ClassVar[Range] = Range.OF_OPERANDS
    takes_int16: ClassVar[bool] = True

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return self._at_corners(*operands)

    def verify(self) -> None:
        super().verify()
        check_same_quantization(self.first, self.output)
        check_same_quantization(self.second, self.output)


@dataclass(frozen=True, eq=False, kw_only=True)
class Maximum(_Extremum):
    """output = the larger of first and second."""

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        return np.maximum(first, second) + self.output.type.zero_point

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        return np.maximum(first, second)


@dataclass(frozen=True, eq=False, kw_only=True)
class Minimum(_Extremum):
    """output = the smaller of first and second."""

    def combine(self, first: Int64Array, second: Int64Array) -> Int64Array:
        return np.minimum(first, second) + self.output.type.zero_point

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        return np.minimum(first, second)
