"""Between real values and stored ones: the arithmetic at the boundary of a model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.mapped import BLOCK_ELEMENTS, blocks
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType, along, stored_limits
from tinygen.ops.checks import check_dtype, check_shape, check_stored
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import conversion

_SATURATION = 1 << 20  # beyond every 8-bit and 16-bit range, and exact in float32


def quantize(values: Array, type: TensorType) -> Array:
    """float32 values as TFLite stores them: divided by the scale in float32, halves away from zero, saturated.

    Infinities and numbers beyond 2**31 saturate too (LiteRT leaves them to the processor); NaN becomes the zero point.
    """
    with np.errstate(over="ignore"):
        scaled = (values.astype(np.float32) / np.float32(type.scale)).astype(np.float64)
    limited = np.clip(np.where(np.isnan(scaled), 0.0, scaled), -_SATURATION, _SATURATION)
    rounded = np.copysign(np.floor(np.abs(limited) + 0.5), limited).astype(np.int64)
    return Clamp.none(type).apply(rounded + type.zero_point).astype(type.dtype.numpy)


def stored(values: Array, quant: Quant, dtype: DType, narrow: bool = False) -> Array:
    """Real constants as stored integers: halves to even, saturated; `narrow` leaves out the smallest stored value."""
    if values.size > BLOCK_ELEMENTS and quant.is_per_tensor:
        parts = [_nearest_stored(block, quant, dtype, narrow) for block in blocks(values)]
        return np.concatenate(parts).reshape(values.shape)
    return _nearest_stored(values, quant, dtype, narrow)


def _nearest_stored(values: Array, quant: Quant, dtype: DType, narrow: bool) -> Array:
    scales, zero_points = (
        along(np.asarray(numbers, np.float64), quant.axis, values.ndim) for numbers in (quant.scales, quant.zero_points)
    )
    integers = np.rint(values.astype(np.float64) / scales) + zero_points
    least, most = stored_limits(dtype, quant.bits)
    return np.clip(integers, least + narrow, most).astype(dtype.numpy)


def dequantize(values: Array, type: TensorType) -> Array:
    """The real values of stored ones, rounded once to float32."""
    centered = values.astype(np.int32) - type.zero_point
    return centered.astype(np.float32) * np.float32(type.scale)


def dequantize_constant(values: Array, quant: Quant) -> Array:
    """The real values of a constant, per tensor or per channel."""
    if quant.axis is not None and not 0 <= quant.axis < values.ndim:
        raise ValueError(f"a constant is quantized along axis {quant.axis} of {values.ndim} dimensions")
    scales, zeros = (along(np.array(numbers), quant.axis, values.ndim) for numbers in (quant.scales, quant.zero_points))
    with np.errstate(over="ignore"):
        real: Array = (values.astype(np.int64) - zeros).astype(np.float32) * scales.astype(np.float32)
    return real


def flip_sign_bit(values: Array) -> Array:
    """int8 as the uint8 that lies 128 above, int16 as the uint16 that lies 32768 above, and the reverse."""
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    flipped = values.view(unsigned) ^ unsigned.type(1 << (8 * unsigned.itemsize - 1))
    found: Array = flipped if values.dtype.kind == "i" else flipped.view(f"i{unsigned.itemsize}")
    return found


def convert(values: Array, source: TensorType, target: TensorType) -> Array:
    """Values of a port between the form that the application has and the one in the graph.

    One of the types is int8 or int16, the other float32; or one int8, the other uint8 with the zero point 128 above.
    """
    if source.dtype is target.dtype:
        return values
    if source.dtype is DType.FLOAT32:
        return quantize(values, target)
    return dequantize(values, source) if target.dtype is DType.FLOAT32 else flip_sign_bit(values)


@dataclass(frozen=True, eq=False, kw_only=True)
class Conversion(Op):
    """Between real numbers and stored ones, element by element."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor
    output: Tensor

    def precision_points(self) -> tuple[Point, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not say where its precision changes")

    def channel_links(self) -> None:
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantize(Conversion):
    """float32 to int8 or int16; at an input of the model the pass convert_boundaries takes it away."""

    def precision_points(self) -> tuple[Point, ...]:
        return conversion(self.output, is_input=True)

    def verify(self) -> None:
        check_dtype("input", self.input, DType.FLOAT32)
        check_stored("output", self.output)
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (quantize(values[self.input], self.output.type),)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dequantize(Conversion):
    """int8 or int16 to float32; at an output of the model the pass convert_boundaries takes it away."""

    def precision_points(self) -> tuple[Point, ...]:
        return conversion(self.input, is_input=False)

    def verify(self) -> None:
        check_stored("input", self.input)
        check_dtype("output", self.output, DType.FLOAT32)
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (dequantize(values[self.input], self.input.type),)
