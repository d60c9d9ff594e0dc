"""Functions of one value as ONNX has them; of 8-bit ones real arithmetic, halves rounded to even."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array, Float32Array
from tinygen.ops.requantize import Int64Array
from tinygen.ops.unary import Unary

Reals = npt.NDArray[np.float64]
_SATURATION = 1 << 20  # beyond every 8-bit output


class RealKind(Enum):
    """What is computed; parameters in the order of ONNX's attributes."""

    ABS = "abs"
    ACOS = "acos"
    ACOSH = "acosh"
    ASIN = "asin"
    ASINH = "asinh"
    ATAN = "atan"
    ATANH = "atanh"
    CEIL = "ceil"
    COS = "cos"
    COSH = "cosh"
    ELU = "elu"  # alpha
    ERF = "erf"
    EXP = "exp"
    FLOOR = "floor"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    HARD_SIGMOID = "hard_sigmoid"  # alpha, beta
    HARD_SWISH = "hard_swish"
    LOG = "log"
    MISH = "mish"
    NEGATIVE = "negative"
    POWER = "power"  # exponent
    RECIPROCAL = "reciprocal"
    ROUND = "round"
    SELU = "selu"  # alpha, gamma
    SIGN = "sign"
    SIN = "sin"
    SINH = "sinh"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    SQRT = "sqrt"
    TAN = "tan"


_WITH_EDGES = (
    RealKind.ACOS,
    RealKind.ACOSH,
    RealKind.ASIN,
    RealKind.ATANH,
    RealKind.CEIL,
    RealKind.FLOOR,
    RealKind.ROUND,
)
"""Those that jump, or end, at numbers other than 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RealFunction(Unary):
    """output = kind(input): exact up to one rounding; what is no number becomes the zero point, the rest saturates.

    Where they have edges, of the float32 that an input is: 127 times the float32 next to 1/127 is 1 there, not less.
    """

    kind: RealKind
    parameters: tuple[float, ...] = ()

    def transform(self, centered: Int64Array) -> Int64Array:
        with np.errstate(all="ignore"):
            input = self.input.type.scale * centered.astype(np.float64)
            if self.kind in _WITH_EDGES:
                input = input.astype(np.float32).astype(np.float64)
            real = _FUNCTIONS[self.kind](input, *self.parameters)
            scaled = np.nan_to_num(real / self.output.type.scale, nan=0.0, posinf=_SATURATION, neginf=-_SATURATION)
        rounded: Int64Array = np.rint(np.clip(scaled, -_SATURATION, _SATURATION)).astype(np.int64)
        return rounded + self.output.type.zero_point

    def inside(self, real: Array) -> Array | None:
        return _INSIDE[self.kind](real, *self.parameters) if self.kind in _INSIDE else None

    def compute(self, real: Float32Array) -> Float32Array:
        return _FUNCTIONS[self.kind](real.astype(np.float64), *self.parameters).astype(np.float32)


def _elementwise(function: Callable[[float], float]) -> Callable[[Reals], Reals]:
    return lambda x: np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def _elu(x: Reals, alpha: float) -> Reals:
    result: Reals = np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)
    return result


def _selu(x: Reals, alpha: float, gamma: float) -> Reals:
    return gamma * _elu(x, alpha)


def _erf(x: Reals) -> Reals:
    return _elementwise(math.erf)(x)


def _gelu(x: Reals) -> Reals:
    return 0.5 * x * (1 + _erf(x * math.sqrt(0.5)))


def _gelu_tanh(x: Reals) -> Reals:
    result: Reals = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def _hard_sigmoid(x: Reals, alpha: float, beta: float) -> Reals:
    result: Reals = np.clip(alpha * x + beta, 0, 1)
    return result


def _hard_swish(x: Reals) -> Reals:
    return x * _hard_sigmoid(x, 1 / 6, 0.5)


def _softplus(x: Reals) -> Reals:
    result: Reals = np.logaddexp(0.0, x)
    return result


def _mish(x: Reals) -> Reals:
    result: Reals = x * np.tanh(_softplus(x))
    return result


def _softsign(x: Reals) -> Reals:
    result: Reals = x / (1 + np.abs(x))
    return result


_INSIDE: Mapping[RealKind, Callable[..., Array]] = {  # e^x - 1; a x + b; 1/2, or x/2, and an odd function
    RealKind.ELU: lambda x, alpha: np.full_like(x, abs(alpha)),
    RealKind.GELU: np.abs,
    RealKind.GELU_TANH: np.abs,
    RealKind.HARD_SIGMOID: lambda x, alpha, beta: np.abs(alpha * x) + abs(beta),
    RealKind.HARD_SWISH: np.abs,
    RealKind.SELU: lambda x, alpha, gamma: np.full_like(x, abs(alpha * gamma)),
}
_FUNCTIONS: Mapping[RealKind, Callable[..., Reals]] = {
    RealKind.ABS: np.abs,
    RealKind.ACOS: np.arccos,
    RealKind.ACOSH: np.arccosh,
    RealKind.ASIN: np.arcsin,
    RealKind.ASINH: np.arcsinh,
    RealKind.ATAN: np.arctan,
    RealKind.ATANH: np.arctanh,
    RealKind.CEIL: np.ceil,
    RealKind.COS: np.cos,
    RealKind.COSH: np.cosh,
    RealKind.ELU: _elu,
    RealKind.ERF: _erf,
    RealKind.EXP: np.exp,
    RealKind.FLOOR: np.floor,
    RealKind.GELU: _gelu,
    RealKind.GELU_TANH: _gelu_tanh,
    RealKind.HARD_SIGMOID: _hard_sigmoid,
    RealKind.HARD_SWISH: _hard_swish,
    RealKind.LOG: np.log,
    RealKind.MISH: _mish,
    RealKind.NEGATIVE: np.negative,
    RealKind.POWER: np.power,
    RealKind.RECIPROCAL: np.reciprocal,
    RealKind.ROUND: np.rint,
    RealKind.SELU: _selu,
    RealKind.SIGN: np.sign,
    RealKind.SIN: np.sin,
    RealKind.SINH: np.sinh,
    RealKind.SOFTPLUS: _softplus,
    RealKind.SOFTSIGN: _softsign,
    RealKind.SQRT: np.sqrt,
    RealKind.TAN: np.tan,
}
