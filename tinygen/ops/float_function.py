"""Functions that are computed in float32 between dequantization and quantization."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.types import Array, DType, Float32Array, Quant
from tinygen.ops.checks import check_activations, check_shape
from tinygen.ops.requantize import Int64Array, Multiplier
from tinygen.ops.sigmoid_int16 import OUTPUT_SCALE, TABLE_ERROR, is_computable, scaling_int16, sigmoid_int16, tanh_int16
from tinygen.ops.unary import Unary

_SATURATION = 1 << 20  # beyond every 8-bit output, and exact in float32


class Function(Enum):
    """Real functions, named as in MLIR's math dialect where it has them."""

    ELU = "elu"
    EXP = "exp"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"  # GELU by the tanh approximation
    LOG = "log"
    LOGISTIC = "logistic"
    TANH = "tanh"


_OF_INT16 = (Function.LOGISTIC, Function.TANH)
_INSIDE: dict[Function, Callable[[Array], Array]] = {  # e^x - 1; 1/2, or x/2, and an odd function
    Function.ELU: np.ones_like,
    Function.GELU: np.abs,
    Function.GELU_TANH: np.abs,
    Function.LOGISTIC: np.ones_like,
}
_FIXED_QUANTS = {  # of int8, as TFLite has them
    Function.LOGISTIC: Quant((1 / 256,), (-128,)),
    Function.TANH: Quant((1 / 128,), (0,)),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class FloatFunction(Unary):
    """output = function(input) as TFLite's 8-bit tables hold it: float32 throughout, halves rounded away from zero.

    Results beyond the range saturate, infinities too. The logarithm of numbers <= 0 is the smallest output. LOGISTIC
    and TANH take int16 too, in fixed point: outputs have scale 1/32768.
    """

    function: Function

    @property
    def fixed_quant(self) -> Quant | None:
        return _FIXED_QUANTS.get(self.function)

    @property
    def scaling_int16(self) -> Multiplier:
        """From int16 inputs to steps of the table of sigmoids: a factor, and a shift to the right."""
        return scaling_int16(self.input.type.scale)

    @property
    def table_error(self) -> float:
        if self.output.type.dtype is not DType.INT16:
            return super().table_error
        return TABLE_ERROR * (2 if self.function is Function.TANH else 1)  # 2 sigmoid(2 x) - 1

    def precision_points(self) -> tuple[Point, ...]:
        if self.output.type.dtype is not DType.INT16:
            return super().precision_points()
        return (Point("interpolation", "table of 256 sigmoids of 16 bits, rounded once"),)

    def verify(self) -> None:
        if self.output.type.dtype is not DType.INT16 or self.function not in _OF_INT16:
            super().verify()
            return
        check_activations(("input", self.input), ("output", self.output))
        check_shape("output", self.output, self.input.shape)
        if self.output.type.quant != Quant((OUTPUT_SCALE,), (0,)):
            raise ValueError(f"output '{self.output.name}' must have scale 1/32768 and zero point 0")
        if not is_computable(self.scaling_int16):
            raise ValueError(f"input '{self.input.name}' has scale {self.input.type.scale:g}, below 2.66 was expected")

    def transform(self, centered: Int64Array) -> Int64Array:
        if self.input.type.dtype is DType.INT16:
            compute = tanh_int16 if self.function is Function.TANH else sigmoid_int16
            return compute(centered, self.scaling_int16)
        real = np.float32(self.input.type.scale) * centered.astype(np.float32)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scaled = _FUNCTIONS[self.function](real) * (np.float32(1) / np.float32(self.output.type.scale))
        scaled = np.where(np.isnan(scaled), -np.float32(np.inf), scaled)
        return _round_half_away(scaled) + self.output.type.zero_point

    def inside(self, real: Array) -> Array | None:
        return _INSIDE[self.function](real) if self.function in _INSIDE else None

    def compute(self, real: Float32Array) -> Float32Array:
        return _FUNCTIONS[self.function](real)


def _round_half_away(values: Float32Array) -> Int64Array:
    limited = np.clip(values.astype(np.float64), -_SATURATION, _SATURATION)
    return np.copysign(np.floor(np.abs(limited) + 0.5), limited).astype(np.int64)


def _rounded(function: Callable[[float], float], values: Float32Array) -> Float32Array:
    """A function of the C library in float32: its double precision result, rounded."""
    results = np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size)
    return results.astype(np.float32).reshape(values.shape)


def _exp(values: Float32Array) -> Float32Array:
    return np.exp(values.astype(np.float64)).astype(np.float32)


def _elu(values: Float32Array) -> Float32Array:
    return np.where(values < 0, np.expm1(np.minimum(values, 0).astype(np.float64)).astype(np.float32), values)


def _logistic(values: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + _exp(-values))


def _log(values: Float32Array) -> Float32Array:
    return np.log(values.astype(np.float64)).astype(np.float32)


def _tanh(values: Float32Array) -> Float32Array:
    return np.tanh(values.astype(np.float64)).astype(np.float32)


def _gelu(values: Float32Array) -> Float32Array:
    half = np.float32(0.5) * values
    return half * _rounded(math.erfc, values * np.float32(-math.sqrt(0.5)))


def _gelu_tanh(values: Float32Array) -> Float32Array:
    cubic = values + np.float32(0.044715) * values * values * values
    bracket = np.float32(1) + _tanh(np.float32(math.sqrt(2 / math.pi)) * cubic)
    return np.float32(0.5) * values * bracket


_FUNCTIONS: dict[Function, Callable[[Float32Array], Float32Array]] = {
    Function.ELU: _elu,
    Function.EXP: _exp,
    Function.GELU: _gelu,
    Function.GELU_TANH: _gelu_tanh,
    Function.LOG: _log,
    Function.LOGISTIC: _logistic,
    Function.TANH: _tanh,
}
