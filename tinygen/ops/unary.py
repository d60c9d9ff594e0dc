"""What operators share that compute each output from one input; of 8 bits they are a table of 256 entries."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Values
from tinygen.ir.types import Array, DType, Float32Array, TensorType
from tinygen.ops.checks import check_activations, check_numbers, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.elementwise import Elementwise
from tinygen.ops.requantize import Int64Array

MAX_BYTE_SHIFT = 22  # of int8 inputs: 255 << 22 fits into 31 bits
MAX_WIDE_SHIFT = 15  # of int16 inputs, which fill 31 bits then


def all_stored(type: TensorType) -> Array:
    """Every value of an 8-bit type in the order of its bits: 0, 1, ..., 127, -128, ..., -1 for int8."""
    return np.arange(256, dtype=np.uint8).view(type.dtype.numpy)


@dataclass(frozen=True, eq=False, kw_only=True)
class Unary(Elementwise):
    """output = f(input), element by element; subclasses say what f is in `transform`."""

    result_range: ClassVar[Range] = Range.OWN
    takes_int16: ClassVar[bool] = False

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("table", f"256 entries of {type(self).__name__}, rounded once"),)

    def channel_links(self) -> None:
        return None

    def transform(self, centered: Int64Array) -> Int64Array:
        """The stored output, before it saturates, for stored inputs minus their zero point."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def compute(self, real: Float32Array) -> Float32Array:
        """The output for float32 inputs."""
        raise NotImplementedError(f"{type(self).__name__} has no float32 reference")

    def inside(self, _real: Array) -> Array | None:
        """How large the numbers are, for float32 inputs, that fast forms of the function add up; None where these are
        no larger than the result."""
        return None

    def inner_magnitudes(self, values: Values) -> Array | None:
        return self.inside(values[self.input].astype(np.float64))

    @property
    def table(self) -> Array:
        """The output for every input, in the order of the input's bits."""
        return self._saturated(all_stored(self.input.type))

    def _saturated(self, stored: Array) -> Array:
        centered = stored.astype(np.int64) - self.input.type.zero_point
        saturated = Clamp.none(self.output.type).apply(self.transform(centered))
        return saturated.astype(self.output.type.dtype.numpy)

    def verify(self) -> None:
        check = check_activations if self.takes_int16 else check_numbers
        check(("input", self.input), ("output", self.output))
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.output.type.dtype.is_real:
            with np.errstate(all="ignore"):
                return (self.compute(values[self.input].astype(np.float32, copy=False)).astype(np.float32, copy=False),)
        if DType.INT16 in (self.input.type.dtype, self.output.type.dtype):
            return (self._saturated(values[self.input]),)
        return (np.asarray(self.table[values[self.input].view(np.uint8)]),)
