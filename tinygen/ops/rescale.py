"""Requantization to another scale, zero point, signedness or width."""

from dataclasses import dataclass

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_scaling, check_shape, check_stored
from tinygen.ops.precision import requantized
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize, with_zero_point
from tinygen.ops.unary import MAX_BYTE_SHIFT, MAX_WIDE_SHIFT, Unary

_MOST_SHIFTS = {DType.INT8: MAX_BYTE_SHIFT, DType.INT16: MAX_WIDE_SHIFT, DType.INT32: 0}


@dataclass(frozen=True, eq=False, kw_only=True)
class Rescale(Unary):
    """The same real values under another quantization; int8 and uint8, or int8, int16 and int32, on either side."""

    @property
    def scaling(self) -> Multiplier:
        """From the input's scale to the output's."""
        return quantize_multiplier(self.input.type.scale / self.output.type.scale)

    @property
    def flips_sign_bit(self) -> bool:
        """Whether int8 becomes uint8, or the reverse, by nothing but the top bit."""
        source, target = self.input.type, self.output.type
        distance = {(DType.INT8, DType.UINT8): 128, (DType.UINT8, DType.INT8): -128}
        expected = distance.get((source.dtype, target.dtype))
        return source.scale == target.scale and target.zero_point - source.zero_point == expected

    def precision_points(self) -> tuple[Point, ...]:
        return requantized(self.output)

    def verify(self) -> None:
        dtypes = (self.input.type.dtype, self.output.type.dtype)
        is_wide = DType.INT16 in dtypes or DType.INT32 in dtypes
        has_offset = dtypes == (DType.INT16, DType.INT32)  # such as a softmax's, which begins at -32768
        for role, tensor in (("input", self.input), ("output", self.output)):
            if tensor.type.dtype is DType.INT32:
                _check_int32(role, tensor)
            elif has_offset and role == "input":
                check_per_tensor(role, tensor)
            elif is_wide:
                check_stored(role, tensor)
            else:
                check_dtype(role, tensor, DType.INT8, DType.UINT8)
                check_per_tensor(role, tensor)
        if dtypes == (DType.INT32, DType.INT32):
            raise ValueError(f"'{self.input.name}' and '{self.output.name}' are i32, i8 or i16 was expected of one")
        if is_wide:
            most = _MOST_SHIFTS[self.input.type.dtype]
            check_scaling("input", self.scaling, most - 1 if self.input.type.zero_point and has_offset else most)
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if DType.INT32 in (self.input.type.dtype, self.output.type.dtype):
            return (self._saturated(values[self.input]),)
        return super().evaluate(values)

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = self.scaling
        return with_zero_point(requantize(centered, scaling.multiplier, scaling.shift), self.output.type.zero_point)


def _check_int32(role: str, tensor: Tensor) -> None:
    check_per_tensor(role, tensor)
    if tensor.type.zero_point:
        raise ValueError(f"{role} '{tensor.name}' is i32 with zero point {tensor.type.zero_point}, 0 was expected")
