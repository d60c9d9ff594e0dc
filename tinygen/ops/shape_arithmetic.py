"""Arithmetic on shapes, as exporters leave it before reshapes; it is done while compiling, never on the target."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape


class ShapeFunction(Enum):
    """What is computed; `integer_arithmetic` has the functions of two numbers."""

    PRODUCT = "product"  # of all elements of one operand
    RANGE = "range"  # operands: start, limit, delta


@dataclass(frozen=True, eq=False, kw_only=True)
class ShapeOf(Op):
    """The shape of a tensor, as a vector; it depends on the tensor's type only."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("output", self.output, DType.INT32, DType.INT64)
        check_shape("output", self.output, (len(self.input.shape),))

    def evaluate(self, values: Values) -> tuple[Array, ...]:  # noqa: ARG002 - only the type counts
        return (np.array(self.input.shape, self.output.type.dtype.numpy),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ShapeArithmetic(Op):
    """A function of constant integers."""

    result_range: ClassVar[Range] = Range.OWN

    constants: tuple[Tensor, ...]
    output: Tensor
    function: ShapeFunction

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("output", self.output), *(("operand", tensor) for tensor in self.constants)):
            check_dtype(role, tensor, DType.INT32, DType.INT64)
        for tensor in self.constants:
            if not tensor.is_constant:
                raise ValueError(f"'{tensor.name}' is known at run time only, shapes and constants were expected")
        check_shape("output", self.output, _shape(self.function, [_data(tensor) for tensor in self.constants]))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        operands = [values[tensor].astype(np.int64) for tensor in self.constants]
        with np.errstate(all="ignore"):  # wraps, as the target's integers do
            result = _FUNCTIONS[self.function](*operands)
        return (np.broadcast_to(result, self.output.shape).astype(self.output.type.dtype.numpy),)


def _shape(function: ShapeFunction, operands: list[Array]) -> tuple[int, ...]:
    """The shape of the result, known without making it."""
    if function is ShapeFunction.PRODUCT:
        return ()
    start, limit, delta = (int(operand.reshape(-1)[0]) for operand in operands)
    if delta == 0:
        raise ValueError("a range with step 0, another number was expected")
    return (max(0, -((start - limit) // delta)),)


def _data(tensor: Tensor) -> Array:
    if tensor.data is None or not tensor.data.size:
        raise ValueError(f"'{tensor.name}' is empty, at least one number was expected")
    return tensor.data


_FUNCTIONS: Mapping[ShapeFunction, Callable[..., Array]] = {
    ShapeFunction.PRODUCT: np.prod,
    ShapeFunction.RANGE: lambda *bounds: np.arange(*(int(bound.reshape(-1)[0]) for bound in bounds)),
}
