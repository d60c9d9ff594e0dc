"""The range that a fused activation leaves of an output."""

import math
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import cast

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Float32Array, TensorType
from tinygen.ops.requantize import Int64Array, round_half_away


class Activation(Enum):
    """Activations that are a clamp, with their real bounds."""

    NONE = (None, None)
    RELU = (0.0, None)
    RELU6 = (0.0, 6.0)
    RELU_0_TO_1 = (0.0, 1.0)
    RELU_N1_TO_1 = (-1.0, 1.0)


@dataclass(frozen=True)
class Clamp:
    """Smallest and largest value of an output: stored integers, or real numbers where the output is float32."""

    min: float
    max: float

    @classmethod
    def none(cls, type: TensorType) -> "Clamp":
        """All stored values of the type."""
        if type.dtype.is_real:
            return UNLIMITED
        return cls(type.min, type.max)

    @classmethod
    def of(cls, activation: Activation, type: TensorType) -> "Clamp":
        """The range of an activation on an output of `type` (TFLite's CalculateActivationRangeQuantized)."""
        low, high = activation.value
        if type.dtype.is_real:
            return cls(-math.inf if low is None else low, math.inf if high is None else high)
        if type.quant is None:
            return cls(type.min if low is None else low, type.max if high is None else high)
        return cls(
            type.min if low is None else _quantize(low, type),
            type.max if high is None else _quantize(high, type),
        )

    @property
    def is_unlimited(self) -> bool:
        """Whether it leaves real numbers as they are."""
        return self.min == -math.inf and self.max == math.inf

    def apply(self, values: Int64Array) -> Int64Array:
        """The stored values, limited to the range."""
        return np.clip(values, int(self.min), int(self.max))

    def apply_real(self, values: Float32Array) -> Float32Array:
        """The real values, limited to the range; NaN remains."""
        return values if self.is_unlimited else np.clip(values, np.float32(self.min), np.float32(self.max))

    def intersect(self, other: "Clamp") -> "Clamp":
        """The range that both allow, as if `other` were applied after this one."""
        low = min(max(self.min, other.min), other.max)
        return Clamp(low, max(min(self.max, other.max), low))

    def verify(self, type: TensorType) -> None:
        """Raise ValueError unless the range lies within the stored values of the type."""
        if type.dtype.is_real:
            if not self.min <= self.max:
                raise ValueError(f"clamp [{self.min}, {self.max}] is no range")
        elif not type.min <= self.min <= self.max <= type.max:
            within = type.dtype.value if type.quant is None or type.quant.bits is None else f"{type.quant.bits} bits"
            raise ValueError(f"clamp [{self.min}, {self.max}] is not a range within {within}")


UNLIMITED = Clamp(-math.inf, math.inf)


def fused_clamp(op: Op) -> Clamp | None:
    """The range to which an operator limits its result at its end, a field `clamp`; None where it has no such end."""
    has_clamp = any(field.name == "clamp" for field in fields(op))
    return cast(Clamp, op.clamp) if has_clamp else None  # type: ignore[attr-defined]


def with_clamp(op: Op, clamp: Clamp, output: Tensor | None = None) -> Op:
    """The operator with another range at its end, and another result of the same elements where one is given."""
    found = op if output is None else op.replace_tensors({op.results[0]: output})
    return replace(found, clamp=clamp)  # type: ignore[call-arg]


def _quantize(real: float, type: TensorType) -> int:
    """The stored value, limited to the type's, also where the quotient exceeds float32."""
    with np.errstate(over="ignore"):
        steps = float(np.float32(real) / np.float32(type.scale))
    limited = min(max(steps, type.min - type.zero_point), type.max - type.zero_point)
    return type.zero_point + round_half_away(limited)
