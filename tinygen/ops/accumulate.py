"""What convolutions and fully connected layers share: exact dot products, bias, requantization per channel."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.answers import ScalingConstants
from tinygen.ir.channels import Intervals
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, along
from tinygen.ops.checks import check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import (
    Int64Array,
    multiplier_arrays,
    quantize_multiplier,
    requantize,
    requantize_wide,
    requantized_intervals,
    with_zero_point,
    wrap_int32,
)

MAX_WIDE_SHIFT = 7  # as TFLite has it for 48-bit sums
MOST_WIDE_PRODUCTS = 1 << 16  # int16 products of int16 keep within 47 bits
LARGEST_WIDE_BIAS = 1 << 46
_LARGEST_INPUT = 255  # less its zero point
_SUM_BITS = 30  # of a sum that is shortened, with one to spare for rounding
_MOST_SUM_BITS = 52  # which float64 holds exactly


def exact_matmul(a: Array, b: Array) -> Int64Array:
    """a @ b of small integers; float64 holds every partial sum exactly (below 2**53) and uses BLAS."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


def centered_weights(weights: Tensor, stored: Array) -> Array:
    """Stored weights minus their zero points, which only those of ui8 have: 9 bits and a sign then."""
    quant = weights.type.quant
    if weights.type.dtype is not DType.UINT8 or quant is None:
        return stored
    return stored.astype(np.int16) - along(np.array(quant.zero_points, np.int16), quant.axis, stored.ndim)


def check_wide_bias(bias: Tensor | None) -> None:
    """Raise ValueError where a constant bias takes sums of an int16 layer beyond the 48 bits that are requantized."""
    if bias is None or bias.data is None:
        return
    largest = max(int(bias.data.max(initial=0)), -int(bias.data.min(initial=0)))
    if largest > LARGEST_WIDE_BIAS:
        raise ValueError(f"bias '{bias.name}' reaches {largest}, at most 2**46 was expected")


@dataclass(frozen=True, eq=False)
class OutputStage:
    """From accumulators (last axis: output channels) to stored outputs; of int8 they have 32 bits, of int16 more."""

    input: Tensor
    weights: Tensor
    bias: Tensor | None
    output: Tensor
    clamp: Clamp

    @property
    def key(self) -> Hashable:
        """What outputs depend on besides the input: the same for all parts of an operator that have all channels."""
        ends = ((tensor.type.scale, tensor.type.zero_point) for tensor in (self.input, self.output))
        return self.weights, self.bias, *ends, self.clamp

    @property
    def factors(self) -> list[float]:
        """input scale * weight scale / output scale, one per weight scale, in double precision as TFLite does."""
        quant = self.weights.type.quant
        if quant is None:
            raise ValueError(f"weights '{self.weights.name}' have no quantization")
        before, after = self.input.type.scale, self.output.type.scale
        return [before * scale / after for scale in quant.scales]

    def verify(self) -> None:
        """Raise ValueError unless sums of an int16 layer keep within the bits of their requantization."""
        if self.has_long_sums and self.sum_shifts.max(initial=0) > _MOST_SUM_BITS - _SUM_BITS:
            raise ValueError(f"weights '{self.weights.name}' have sums beyond {_MOST_SUM_BITS} bits")
        if self.output.type.dtype is not DType.INT16:
            return
        check_scaling("sum", quantize_multiplier(max(self.factors)), MAX_WIDE_SHIFT)
        products = self.weights.type.elements // self.output.shape[-1]
        if self.weights.type.dtype is DType.INT16 and products > MOST_WIDE_PRODUCTS:
            raise ValueError(
                f"weights '{self.weights.name}' are i16 with {products} for an output, at most {MOST_WIDE_PRODUCTS} "
                "were expected"
            )
        check_wide_bias(self.bias)

    @cached_property
    def multipliers(self) -> tuple[Int64Array, Int64Array]:
        """Multipliers and shifts, one per weight scale; of 64-bit sums for what is left of these."""
        if self.has_long_sums:
            factors = zip(self.factors, self.sum_shifts.tolist(), strict=True)
            return multiplier_arrays([factor * 2.0**shift for factor, shift in factors])
        return multiplier_arrays(self.factors)

    @property
    def has_long_sums(self) -> bool:
        """Whether sums have 64 bits, of which requantization takes those that can be set: of weights in blocks."""
        return self.weights.type.dtype is DType.INT32

    @cached_property
    def sum_shifts(self) -> Int64Array:
        """Per output channel, the bits that 64-bit sums lose (rounded, halves up) so that any inputs leave 32."""
        quant, data = self.weights.type.quant, self.weights.data
        assert quant is not None and data is not None
        rows = np.moveaxis(data, quant.axis or 0, 0).reshape(len(quant.scales), -1)
        largest = np.abs(rows.astype(np.float64)).sum(axis=1) * _LARGEST_INPUT + np.abs(self.biases(len(rows)))
        bits: Int64Array = np.frexp(largest)[1].astype(np.int64)
        return np.maximum(bits - _SUM_BITS, 0)

    def _shortened(self, sums: Int64Array) -> Int64Array:
        halves = np.left_shift(1, np.maximum(self.sum_shifts - 1, 0)) * (self.sum_shifts > 0)
        shortened: Int64Array = (sums + halves) >> self.sum_shifts
        return shortened

    def scaling_constants(self, rounding: str = "double") -> ScalingConstants:
        """The same for a table, with the offset of stored inputs."""
        multipliers, shifts = (tuple(int(value) for value in values) for values in self.multipliers)
        return ScalingConstants(multipliers, shifts, -self.input.type.zero_point, rounding=rounding)

    def biases(self, outputs: int) -> Int64Array:
        """The bias of each output channel, zeros where there is none."""
        if self.bias is None or self.bias.data is None:
            return np.zeros(outputs, np.int64)
        return self.bias.data.astype(np.int64)

    def stored(self, sums: Intervals) -> Intervals:
        """Of accumulators with their biases: between which stored values the outputs lie."""
        multiplier, shift = self.multipliers
        return requantized_intervals(sums, multiplier, shift, self.output.type.zero_point).each(self.clamp.apply)

    def finish_real(self, sums: Float32Array) -> Array:
        """Add the bias to float32 sums, clamp."""
        if self.bias is not None and self.bias.data is not None:
            sums = sums + self.bias.data.astype(np.float32)
        return self.clamp.apply_real(sums)

    def finish(self, accumulators: Int64Array) -> Array:
        """Add the bias, requantize, add the output zero point, clamp."""
        if self.bias is not None and self.bias.data is not None:
            accumulators = accumulators + self.bias.data.astype(np.int64)
        if self.has_long_sums:
            accumulators = self._shortened(accumulators)
        multiplier, shift = self.multipliers
        if self.output.type.dtype is DType.INT16:
            return self.clamp.apply(requantize_wide(accumulators, multiplier, shift)).astype(np.int16)
        stored = with_zero_point(requantize(wrap_int32(accumulators), multiplier, shift), self.output.type.zero_point)
        return self.clamp.apply(stored).astype(self.output.type.dtype.numpy)
