"""The range of float32 numbers, found as their rows come: the smallest and the largest so far, finished once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.dynamic_quantize import RangeRule, check_parameters, parameters, range_with_zero

BOUNDS_SHAPE = (1, 1, 1, 2)  # smallest and largest


@dataclass(frozen=True, eq=False, kw_only=True)
class WidenRange(Op):
    """output = the range of `before`, 0 and all of `input`; without `before` that of 0 and `input`. NaN has no part."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # float32, of any shape
    before: Tensor | None  # [1, 1, 1, 2], float32: smallest and largest
    output: Tensor  # [1, 1, 1, 2], float32

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_dtype(role, tensor, DType.FLOAT32)
        check_shape("output", self.output, BOUNDS_SHAPE)
        if self.before is not None:
            check_dtype("before", self.before, DType.FLOAT32)
            check_shape("before", self.before, BOUNDS_SHAPE)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        parts = [values[tensor].reshape(1, -1) for tensor in self.variable_operands]
        bounds = range_with_zero(np.concatenate(parts, axis=1).astype(np.float32))
        return (np.concatenate(bounds).reshape(BOUNDS_SHAPE),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleOfRange(Op):
    """Scale, zero point, and the inverse where the rule has one, of a range."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, 1, 1, 2], float32: smallest and largest, with 0 between them
    outputs: tuple[Tensor, ...]  # as those of DynamicRange, one element each
    rule: RangeRule

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_shape("input", self.input, BOUNDS_SHAPE)
        check_parameters(self.outputs, self.rule)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        smallest, largest = values[self.input].astype(np.float32).reshape(2, 1)
        shape = self.outputs[0].shape
        return tuple(array.reshape(shape) for array in parameters(self.rule, smallest, largest))
