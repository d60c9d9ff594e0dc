"""Quantization at run time: the range of a tensor, or of each of its rows, becomes a scale and a zero point of int8.

ASYMMETRIC is ONNX's DynamicQuantizeLinear to the bit of what onnxruntime computes, 128 lower, also where the scale
underflows to 0. The rules of LiteRT are those of its operators on float32 with int8 weights.
"""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_shape

_LEAST, _MOST = -128, 127
_STEPS = np.float32(_MOST - _LEAST)
_TYPES = np.float32, np.int8, np.float32  # of scale, zero point and inverse


class RangeRule(Enum):
    """How a range gives scale and zero point."""

    ASYMMETRIC = "asymmetric"  # scale = range with 0 / 255; the smallest number is -128
    SYMMETRIC = "symmetric"  # scale = largest magnitude / 127
    LITERT_ASYMMETRIC = "asymmetric as in LiteRT"  # zero point in float64, from the end with the smaller error
    LITERT_SYMMETRIC = "symmetric as in LiteRT"  # scaled by 127 / largest magnitude

    @property
    def multiplies(self) -> bool:
        """Whether numbers are multiplied by an inverse, and halves rounded away from zero."""
        return self in (RangeRule.LITERT_ASYMMETRIC, RangeRule.LITERT_SYMMETRIC)


def scale_of_all(*parameters: Tensor) -> tuple[Tensor, ...]:
    """Of parameters of rows: those known at run time that belong to all elements, so that any part needs them."""
    return tuple(t for t in parameters if not t.is_constant and t.type.elements == 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicRange(Op):
    """Scale and zero point of each row's range; of zeros alone the scale is 1. NaN has no part in it.

    The rules of LiteRT have a third result: what numbers are multiplied with, about 1 / scale.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # float32, as many rows of equal size as there are scales, whatever its shape
    outputs: tuple[Tensor, ...]  # scales float32, zero points int8, perhaps inverses float32: all of one shape
    rule: RangeRule

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_parameters(self.outputs, self.rule)
        rows = self.outputs[0].type.elements
        if not rows or not self.input.type.elements or self.input.type.elements % rows:
            raise ValueError(f"input {list(self.input.shape)} does not have {rows} rows of equal size")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        shape = self.outputs[0].shape
        rows = values[self.input].astype(np.float32, copy=False).reshape(self.outputs[0].type.elements, -1)
        found = parameters(self.rule, *range_with_zero(rows))
        return tuple(array.reshape(shape) for array in found)


def range_with_zero(rows: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Smallest and largest number of each row and 0; NaN has no part in it."""
    zero = np.float32(0)
    return np.fmin.reduce(rows, axis=1, initial=zero), np.fmax.reduce(rows, axis=1, initial=zero)


def check_parameters(outputs: tuple[Tensor, ...], rule: RangeRule) -> None:
    """The results of a range are scale and zero point, and the inverse where the rule has one, of one shape."""
    if len(outputs) != (3 if rule.multiplies else 2):
        raise ValueError(f"{len(outputs)} results of a range that is {rule.value}")
    for tensor, role in zip(outputs, ("scale", "zero point", "inverse"), strict=False):
        check_dtype(role, tensor, DType.INT8 if role == "zero point" else DType.FLOAT32)
        check_shape(role, tensor, outputs[0].shape)


def parameters(rule: RangeRule, smallest: Float32Array, largest: Float32Array) -> tuple[Array, ...]:
    """Scales, zero points, and inverses where the rule has them, of ranges with 0."""
    with np.errstate(all="ignore"):
        scale, zero_point, *inverse = _PARAMETERS[rule](smallest, largest)
    return tuple(array.astype(dtype) for array, dtype in zip((scale, zero_point, *inverse), _TYPES, strict=False))


def _asymmetric(smallest: Float32Array, largest: Float32Array) -> tuple[Array, ...]:
    scale = np.where(largest == smallest, np.float32(1), (largest - smallest) / _STEPS)
    origin = np.float32(0) - smallest / scale
    return scale, np.where(origin < _STEPS, np.rint(origin), _STEPS) + _LEAST


def _symmetric(smallest: Float32Array, largest: Float32Array) -> tuple[Array, ...]:
    magnitude = np.maximum(-smallest, largest)
    scale = np.where(magnitude == 0, np.float32(1), magnitude / np.float32(_MOST))
    return scale, np.zeros(scale.shape)


def _litert_symmetric(smallest: Float32Array, largest: Float32Array) -> tuple[Array, ...]:
    magnitude = np.maximum(-smallest, largest)
    inverse = np.where(magnitude == 0, np.float32(1), np.float32(_MOST) / magnitude)
    return (*_symmetric(smallest, largest), inverse)


def _litert_asymmetric(smallest: Float32Array, largest: Float32Array) -> tuple[Array, ...]:
    low, high = smallest.astype(np.float64), largest.astype(np.float64)
    exact = (largest - smallest).astype(np.float64) / (_MOST - _LEAST)
    is_from_low = -_LEAST - low / exact < _MOST + high / exact
    origin = np.where(is_from_low, _LEAST - low / exact, _MOST - high / exact)
    limited = np.clip(np.nan_to_num(origin, nan=_LEAST), _LEAST, _MOST)
    is_zero = high == low
    scale = np.where(is_zero, np.float32(1), exact.astype(np.float32))
    return scale, np.where(is_zero, 0, np.trunc(limited + np.copysign(0.5, limited))), np.float32(1) / scale


_PARAMETERS = {
    RangeRule.ASYMMETRIC: _asymmetric,
    RangeRule.SYMMETRIC: _symmetric,
    RangeRule.LITERT_ASYMMETRIC: _litert_asymmetric,
    RangeRule.LITERT_SYMMETRIC: _litert_symmetric,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicQuantize(Op):
    """Each row in its scale: input / scale, halves rounded to even, plus zero point; what is no number is -128.

    Where it `multiplies` it is input * inverse, one half added and cut off in float32, plus zero point.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # float32
    scale: Tensor  # float32, one for each row; the inverse where it multiplies
    zero_point: Tensor  # int8, of the scale's shape
    output: Tensor  # int8, the input's shape
    multiplies: bool = False

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        return scale_of_all(self.scale, self.zero_point)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return rows

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return columns

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("quantize", "scale and zero point of the range, halves to even"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_dtype("scale", self.scale, DType.FLOAT32)
        check_dtype("zero point", self.zero_point, DType.INT8)
        check_shape("zero point", self.zero_point, self.scale.shape)
        check_dtype("output", self.output, DType.INT8)
        check_shape("output", self.output, self.input.shape)
        rows = self.scale.type.elements
        if not rows or self.input.type.elements % rows:
            raise ValueError(f"input {list(self.input.shape)} does not have {rows} rows of equal size")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        rows = values[self.input].astype(np.float32, copy=False).reshape(self.scale.type.elements, -1)
        scale, zero_point = (
            values[tensor].astype(np.float32).reshape(-1, 1) for tensor in (self.scale, self.zero_point)
        )
        with np.errstate(all="ignore"):
            if self.multiplies:
                products = rows * scale
                nearest = np.trunc(products + np.copysign(np.float32(0.5), products))
            else:
                nearest = np.rint(rows / scale)
            levels = nearest + zero_point
        limited = np.clip(np.nan_to_num(levels, nan=_LEAST, posinf=np.inf, neginf=-np.inf), _LEAST, _MOST)
        return (limited.astype(np.int8).reshape(self.output.shape),)
