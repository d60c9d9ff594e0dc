"""Requantization in float32, as TFLite has it where uint8 tensors of different scales are concatenated."""

from dataclasses import dataclass

import numpy as np

from tinygen.ops.requantize import Int64Array
from tinygen.ops.unary import Unary

_OFFSET = 128  # of uint8 above the int8 that it is read as


@dataclass(frozen=True, eq=False, kw_only=True)
class UnsignedRescale(Unary):
    """output = round(stored * s - zero point * s) + zero point of the output, s = input scale * (1 / output scale).

    Stored values and zero points are those of uint8; halves are rounded away from zero.
    """

    def transform(self, centered: Int64Array) -> Int64Array:
        zero_point = self.input.type.zero_point + _OFFSET
        scale = np.float32(self.input.type.scale) * (np.float32(1) / np.float32(self.output.type.scale))
        scaled = (centered + zero_point).astype(np.float32) * scale + np.float32(-zero_point) * scale
        rounded: Int64Array = np.copysign(np.floor(np.abs(scaled.astype(np.float64)) + 0.5), scaled).astype(np.int64)
        return rounded + self.output.type.zero_point
