"""Stored numbers as another element type."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape

INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT32)
_TYPES = (DType.BOOL, *INTEGERS, DType.FLOAT32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cast(Op):
    """The same numbers in another element type, whatever they are quantized with.

    Integers wrap where they do not fit, real numbers lose their fraction and saturate, NaN becomes 0; true is 1, and
    all but 0 is true.
    """

    result_range: ClassVar[Range] = Range.OWN
    takes_stored_numbers: ClassVar[bool] = True

    input: Tensor
    output: Tensor

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, *_TYPES)
        check_dtype("output", self.output, *_TYPES)
        check_shape("output", self.output, self.input.shape)

    def aliases(self) -> tuple[Alias, ...]:
        """What stays of its type, and integers that are as wide, signed or not, have the same bytes."""
        kinds = {self.input.type.dtype, self.output.type.dtype}
        same = len(kinds) == 1 or (kinds <= set(INTEGERS) and len({dtype.bytes for dtype in kinds}) == 1)
        return (Alias(part=self.output, whole=self.input),) if same else ()

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        numbers, wanted = values[self.input], self.output.type.dtype
        if not self.input.type.dtype.is_real or wanted in (DType.BOOL, DType.FLOAT32):
            return (numbers.astype(wanted.numpy),)
        whole = np.trunc(np.nan_to_num(numbers.astype(np.float64), nan=0.0))
        low, high = whole <= wanted.min, whole >= wanted.max  # the ends of int64 are none of float64's numbers
        inside = np.where(low | high, 0.0, whole).astype(wanted.numpy)
        return (np.where(low, wanted.min, np.where(high, wanted.max, inside)).astype(wanted.numpy),)
