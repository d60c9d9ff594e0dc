"""Sums of all elements up to each one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.along_axis import AlongAxis
from tinygen.ops.checks import check_dtype, check_numbers, check_scaling, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import ACCUMULATOR, offsets, requantized
from tinygen.ops.requantize import Multiplier, quantize_multiplier, requantize, wrap_int32

LEFT_SHIFT = 19  # of sums: 20 as in additions, times the share 1/2 that an operand has of twice its scale


@dataclass(frozen=True, eq=False, kw_only=True)
class CumulativeSum(AlongAxis):
    """output[..., i, ...] = sum of the elements up to i along `axis`, without element i where it is exclusive.

    Sums of int8 are kept in 32 bits with 19 fraction bits, and wrap. TFLite Micro's begin at minus the zero point, not
    at 0: `counts_zero_point`.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor
    exclusive: bool = False
    reverse: bool = False  # from the end
    counts_zero_point: bool = False  # once too often, as TFLite Micro does

    @property
    def start(self) -> int:
        """What sums of stored values minus their zero point begin with."""
        return -self.input.type.zero_point if self.counts_zero_point else 0

    @property
    def scaling(self) -> Multiplier:
        """From sums with 19 fraction bits to the output."""
        return quantize_multiplier(2.0 * self.input.type.scale / ((1 << LEFT_SHIFT + 1) * self.output.type.scale))

    def precision_points(self) -> tuple[Point, ...]:
        return (*offsets(self.input), ACCUMULATOR, *requantized(self.output))

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("output", self.output, DType.INT8, DType.INT32, DType.INT64, DType.FLOAT32)
        check_dtype("input", self.input, self.output.type.dtype)
        if self.output.type.dtype is DType.INT8:
            check_numbers(("input", self.input), ("output", self.output))
            check_scaling("sum", self.scaling, 0)
        super().verify()
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        numbers, quant = values[self.input], self.input.type.quant
        dtype = self.output.type.dtype
        if dtype is not DType.INT8 or quant is None:
            return (self._sums(numbers.astype(np.float32 if dtype.is_real else np.int64)).astype(dtype.numpy),)
        return (self._requantized(self._sums(numbers.astype(np.int64) - quant.zero_point)),)

    def _requantized(self, sums: Array) -> Array:
        registers = wrap_int32((sums.astype(np.int64) + self.start) << LEFT_SHIFT)
        stored = requantize(registers, self.scaling.multiplier, self.scaling.shift) + self.output.type.zero_point
        return Clamp.none(self.output.type).apply(stored).astype(np.int8)

    def _sums(self, numbers: Array) -> Array:
        ordered = np.flip(numbers, self.axis) if self.reverse else numbers
        sums: Array = np.cumsum(ordered, axis=self.axis, dtype=numbers.dtype)
        if self.exclusive:
            sums = np.roll(sums, 1, self.axis)
            sums[(slice(None),) * self.axis + (0,)] = 0
        return np.flip(sums, self.axis) if self.reverse else sums
