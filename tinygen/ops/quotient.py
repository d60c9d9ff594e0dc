"""Quotients and powers of two tensors: of float32 only."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.types import DType, Float32Array
from tinygen.ops.binary import Binary
from tinygen.ops.checks import check_dtype


@dataclass(frozen=True, eq=False, kw_only=True)
class _RealBinary(Binary):
    """A function of two float32 tensors that int8 ones have no arithmetic for."""

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def verify(self) -> None:
        check_dtype("output", self.output, DType.FLOAT32)
        super().verify()


@dataclass(frozen=True, eq=False, kw_only=True)
class Div(_RealBinary):
    """output = first / second, broadcast as in numpy."""

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            return first / second


@dataclass(frozen=True, eq=False, kw_only=True)
class Power(_RealBinary):
    """output = first ** second, broadcast as in numpy."""

    def combine_real(self, first: Float32Array, second: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            powers: Float32Array = np.power(first.astype(np.float64), second.astype(np.float64)).astype(np.float32)
        return powers
