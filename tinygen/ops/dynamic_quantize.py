"""Quantization at run time, as ONNX's DynamicQuantizeLinear has it: uint8, held as float32 numbers.

To the bit what onnxruntime computes, where the scale underflows to 0 too: what is no number is the largest zero point
and the smallest level.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape

_LARGEST = np.float32(255)  # uint8; the smallest one is 0


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicRange(Op):
    """Scale and zero point of the range of all elements and 0; of zeros alone the scale is 1. NaN has no part in it."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # float32
    outputs: tuple[Tensor, Tensor]  # scale and zero point: float32 without axes

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        for role, tensor in zip(("scale", "zero point"), self.outputs, strict=True):
            check_dtype(role, tensor, DType.FLOAT32)
            check_shape(role, tensor, ())

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        elements = values[self.input].reshape(-1)
        largest = np.fmax.reduce(elements, initial=np.float32(0))
        smallest = np.fmin.reduce(elements, initial=np.float32(0))
        with np.errstate(all="ignore"):
            scale = np.float32(1) if largest == smallest else (largest - smallest) / _LARGEST
            origin = np.float32(0) - smallest / scale
        zero_point = np.rint(origin) if origin < _LARGEST else _LARGEST
        return np.asarray(scale, np.float32), np.asarray(zero_point, np.float32)


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicQuantize(Op):
    """output = input / scale, halves rounded to even, plus zero point, from 0 to 255."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # float32
    scale: Tensor  # float32 without axes
    zero_point: Tensor  # float32 without axes
    output: Tensor  # float32; the input's shape

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        roles = ("input", self.input), ("scale", self.scale), ("zero point", self.zero_point), ("output", self.output)
        for role, tensor in roles:
            check_dtype(role, tensor, DType.FLOAT32)
        check_shape("scale", self.scale, ())
        check_shape("zero point", self.zero_point, ())
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            levels = np.rint(np.divide(values[self.input], values[self.scale])) + values[self.zero_point]
        limited = np.clip(np.nan_to_num(levels, nan=0.0, posinf=np.inf, neginf=-np.inf), np.float32(0), _LARGEST)
        return (np.asarray(limited, np.float32),)
