"""Requantization of 8-bit tensors to another scale, zero point or signedness."""

from dataclasses import dataclass

from tinygen.ir.types import DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_shape
from tinygen.ops.requantize import Int64Array, quantize_multiplier, requantize
from tinygen.ops.unary import Unary


@dataclass(frozen=True, eq=False, kw_only=True)
class Rescale(Unary):
    """The same real values under another 8-bit quantization; int8 and uint8 on either side."""

    @property
    def flips_sign_bit(self) -> bool:
        """Whether int8 becomes uint8, or the reverse, by nothing but the top bit."""
        source, target = self.input.type, self.output.type
        distance = {(DType.INT8, DType.UINT8): 128, (DType.UINT8, DType.INT8): -128}
        expected = distance.get((source.dtype, target.dtype))
        return source.scale == target.scale and target.zero_point - source.zero_point == expected

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8, DType.UINT8)
            check_per_tensor(role, tensor)
        check_shape("output", self.output, self.input.shape)

    def transform(self, centered: Int64Array) -> Int64Array:
        scaling = quantize_multiplier(self.input.type.scale / self.output.type.scale)
        return requantize(centered, scaling.multiplier, scaling.shift) + self.output.type.zero_point
