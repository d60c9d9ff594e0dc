"""Arithmetic on integers without scales: counters, positions, shapes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.types import Array, DType
from tinygen.ops.binary import Broadcasting
from tinygen.ops.checks import check_dtype
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array


class IntegerFunction(Enum):
    """What is computed of two numbers; what does not fit wraps, a division by 0 gives 0."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"  # cut off
    FLOOR_DIV = "floor_div"
    FLOOR_MOD = "floor_mod"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    SQUARED_DIFFERENCE = "squared_difference"
    BIT_AND = "bit_and"
    BIT_OR = "bit_or"
    BIT_XOR = "bit_xor"
    SHIFT_RIGHT = "shift_right"  # keeps the sign; by 0 bits at least, and at most by all but one


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerArithmetic(Broadcasting):
    """output = function(first, second) of int32 or int64, within `limits`, broadcast as in numpy."""

    function: IntegerFunction
    limits: Clamp

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        super().verify()
        check_dtype("output", self.output, DType.INT32, DType.INT64)
        for role, tensor in (("first", self.first), ("second", self.second)):
            check_dtype(role, tensor, self.output.type.dtype)
        self.limits.verify(self.output.type)
        divides = self.function in (IntegerFunction.DIV, IntegerFunction.FLOOR_DIV, IntegerFunction.FLOOR_MOD)
        if divides and self.second.data is not None and not np.all(self.second.data):
            raise ValueError("a division by 0")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):  # wraps
            found = _FUNCTIONS[self.function](values[self.first], values[self.second])
        limited = np.clip(found, int(self.limits.min), int(self.limits.max))
        return (np.asarray(limited, self.output.type.dtype.numpy),)


def _truncated(first: Int64Array, second: Int64Array) -> Array:
    quotient = np.floor_divide(first, second)
    is_above = (first % second != 0) & ((first < 0) != (second < 0))
    return np.where(second == 0, 0, quotient + is_above).astype(first.dtype)


def _shifted(value: Int64Array, bits: Int64Array) -> Array:
    return np.asarray(value >> np.clip(bits, 0, 8 * value.itemsize - 1))


_FUNCTIONS: Mapping[IntegerFunction, Callable[..., Array]] = {
    IntegerFunction.ADD: np.add,
    IntegerFunction.SUB: np.subtract,
    IntegerFunction.MUL: np.multiply,
    IntegerFunction.DIV: _truncated,
    IntegerFunction.FLOOR_DIV: np.floor_divide,
    IntegerFunction.FLOOR_MOD: np.mod,
    IntegerFunction.MAXIMUM: np.maximum,
    IntegerFunction.MINIMUM: np.minimum,
    IntegerFunction.SQUARED_DIFFERENCE: lambda first, second: (first - second) ** 2,
    IntegerFunction.BIT_AND: np.bitwise_and,
    IntegerFunction.BIT_OR: np.bitwise_or,
    IntegerFunction.BIT_XOR: np.bitwise_xor,
    IntegerFunction.SHIFT_RIGHT: _shifted,
}
