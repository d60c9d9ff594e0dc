"""Requantization to another scale, zero point, signedness or width."""

from dataclasses import dataclass

from tinygen.ir.types import DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_scaling, check_shape, check_stored
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize
from tinygen.ops.unary import MAX_WIDE_SHIFT, Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class Rescale(Unary):
    """The same real values under another quantization; int8 and uint8, or int8 and int16, on either side."""

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

    def verify(self) -> None:
        is_wide = DType.INT16 in (self.input.type.dtype, self.output.type.dtype)
        for role, tensor in (("input", self.input), ("output", self.output)):
            if is_wide:
                check_stored(role, tensor)
            check_dtype(role, tensor, DType.INT8, DType.INT16 if is_wide else DType.UINT8)
            check_per_tensor(role, tensor)
        if is_wide:
            check_scaling("input", self.scaling, MAX_WIDE_SHIFT)
        check_shape("output", self.output, self.input.shape)

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = self.scaling
        return requantize(centered, scaling.multiplier, scaling.shift) + self.output.type.zero_point
