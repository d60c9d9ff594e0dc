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


class IntegerFunction(Enum):
    """What is computed."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    FLOOR_DIV = "floor_div"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    PRODUCT = "product"  # of all elements of one operand
    CAST = "cast"
    FILL = "fill"  # operands: shape, value
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
    function: IntegerFunction

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


def _shape(function: IntegerFunction, operands: list[Array]) -> tuple[int, ...]:
    """The shape of the result, known without making it."""
    match function:
        case IntegerFunction.PRODUCT:
            return ()
        case IntegerFunction.FILL:
            return tuple(int(size) for size in operands[0].reshape(-1))
        case IntegerFunction.RANGE:
            start, limit, delta = (int(operand.reshape(-1)[0]) for operand in operands)
            if delta == 0:
                raise ValueError("a range with step 0, another number was expected")
            return (max(0, -((start - limit) // delta)),)
    if function is IntegerFunction.FLOOR_DIV and not np.all(operands[1]):
        raise ValueError("a division by 0")
    return np.broadcast_shapes(*(operand.shape for operand in operands))


def _data(tensor: Tensor) -> Array:
    if tensor.data is None or not tensor.data.size:
        raise ValueError(f"'{tensor.name}' is empty, at least one number was expected")
    return tensor.data


_FUNCTIONS: Mapping[IntegerFunction, Callable[..., Array]] = {
    IntegerFunction.ADD: np.add,
    IntegerFunction.SUB: np.subtract,
    IntegerFunction.MUL: np.multiply,
    IntegerFunction.FLOOR_DIV: np.floor_divide,
    IntegerFunction.MAXIMUM: np.maximum,
    IntegerFunction.MINIMUM: np.minimum,
    IntegerFunction.PRODUCT: np.prod,
    IntegerFunction.CAST: np.asarray,
    IntegerFunction.FILL: lambda dims, value: value,  # noqa: ARG005 - the shape is the output's
    IntegerFunction.RANGE: lambda *bounds: np.arange(*(int(bound.reshape(-1)[0]) for bound in bounds)),
}
