"""Functions of what goes into gates, and of cells, as ONNX's recurrent operators may choose them; of real numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinygen.ir.types import Float32Array


class GateKind(Enum):
    """What is computed; parameters as in the C function of the same name."""

    AFFINE = "affine"  # alpha * x + beta
    ELU = "elu"  # alpha
    HARD_SIGMOID = "hard_sigmoid"  # alpha, beta
    LEAKY_RELU = "leaky_relu"  # alpha
    LOGISTIC = "logistic"
    RELU = "clamp"  # least and largest
    SCALED_TANH = "scaled_tanh"  # alpha * tanh(beta * x)
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    TANH = "tanh"
    THRESHOLDED_RELU = "thresholded_relu"  # x above alpha, else 0


@dataclass(frozen=True)
class GateFunction:
    """A function of float32 numbers with its parameters."""

    kind: GateKind
    parameters: tuple[float, ...] = ()

    def __call__(self, x: Float32Array) -> Float32Array:
        """Of each element."""
        found: Float32Array = _FUNCTIONS[self.kind](x, *map(np.float32, self.parameters)).astype(np.float32, copy=False)
        return found


def _logistic(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _elu(x: Float32Array, alpha: np.float32) -> Float32Array:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _leaky_relu(x: Float32Array, alpha: np.float32) -> Float32Array:
    found: Float32Array = np.where(x < 0, alpha * x, x)
    return found


def _hard_sigmoid(x: Float32Array, alpha: np.float32, beta: np.float32) -> Float32Array:
    found: Float32Array = np.clip(alpha * x + beta, np.float32(0), np.float32(1))
    return found


def _softsign(x: Float32Array) -> Float32Array:
    found: Float32Array = (x / (np.float32(1) + np.abs(x))).astype(np.float32)
    return found


def _softplus(x: Float32Array) -> Float32Array:
    found: Float32Array = np.logaddexp(np.float32(0), x).astype(np.float32)
    return found


_FUNCTIONS: Mapping[GateKind, Callable[..., Float32Array]] = {
    GateKind.AFFINE: lambda x, alpha, beta: alpha * x + beta,
    GateKind.ELU: _elu,
    GateKind.HARD_SIGMOID: _hard_sigmoid,
    GateKind.LEAKY_RELU: _leaky_relu,
    GateKind.LOGISTIC: _logistic,
    GateKind.RELU: np.clip,
    GateKind.SCALED_TANH: lambda x, alpha, beta: alpha * np.tanh(beta * x),
    GateKind.SOFTPLUS: _softplus,
    GateKind.SOFTSIGN: _softsign,
    GateKind.TANH: np.tanh,
    GateKind.THRESHOLDED_RELU: lambda x, alpha: np.where(x > alpha, x, np.float32(0)),
}

LOGISTIC = GateFunction(GateKind.LOGISTIC)
TANH = GateFunction(GateKind.TANH)
