"""Functions of one int16 value by an interpolated table of 513 entries, as TFLite's reference kernels have them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_activations, check_shape
from tinygen.ops.elementwise import Tabled
from tinygen.ops.requantize import Int64Array

ENTRIES = 513
_STEPS = 512
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1

Table = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False, kw_only=True)
class Interpolated(Tabled):
    """output = between the two entries around the input, which counts in 1/128 of their distance; ties up."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # int16
    table: Tensor  # [513], int16: from the smallest input on
    output: Tensor  # int16
    error: float = 0.0  # of results, as real numbers, at most

    @property
    def table_error(self) -> float:
        return self.error

    def precision_points(self) -> tuple[Point, ...]:
        steps = self.error / self.output.type.scale
        return (Point("interpolation", f"table of {ENTRIES} numbers of 16 bits, at most {steps:.1f} steps off"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        if self.output.type.dtype is not DType.INT16:
            raise ValueError(f"output '{self.output.name}' is {self.output.type.dtype.value}, i16 was expected")
        check_activations(("input", self.input), ("output", self.output))
        self.check_table(DType.INT16, ENTRIES)
        check_shape("output", self.output, self.input.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        found = interpolate(values[self.table], values[self.input].astype(np.int64))
        return (found.astype(np.int16).reshape(self.output.shape),)


def interpolate(table: Array, position: Int64Array) -> Int64Array:
    """Between the entries around positions that count from -32768 in 1/128 of an entry."""
    wide = table.astype(np.int64)
    index, offset = 256 + (position >> 7), position & 0x7F
    value: Int64Array = wide[index] + (((wide[index + 1] - wide[index]) * offset + 64) >> 7)
    return value


@dataclass(frozen=True, eq=False)
class TabledFunction:
    """A real function of int16 values of one scale, as int16 values of another."""

    apply: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
    input_scale: float
    output_scale: float

    @cached_property
    def table(self) -> Table:
        """Its table; what is no number is 0."""

        def of_one(x: np.float32) -> np.float32:
            return np.float32(self.apply(np.array([x], np.float64))[0])

        with np.errstate(all="ignore"):
            return table_of(of_one, self.input_scale, 0, self.output_scale)

    @cached_property
    def error(self) -> float:
        """How far a result of the table is from the real one, limited to the range, at most: over all inputs."""
        positions = np.arange(_LOW, _HIGH + 1, dtype=np.int64)
        with np.errstate(all="ignore"):
            real = self.apply(positions.astype(np.float64) * self.input_scale) / self.output_scale
        exact = np.clip(np.nan_to_num(real, nan=0.0, posinf=_HIGH, neginf=_LOW), _LOW, _HIGH)
        return float(np.abs(interpolate(self.table, positions) - exact).max()) * self.output_scale


def table_of(function: Callable[[np.float32], np.float32], scale: float, zero_point: int, output_scale: float) -> Table:
    """Values of a function of int16 inputs, with half of the error in the middle of each interval taken away.

    Every operation is rounded to float32, as TFLite's table generator has it.
    """
    step, output_step = np.float32(scale), np.float32(output_scale)
    low, high = step * np.float32(_LOW - zero_point), step * np.float32(_HIGH - zero_point)
    interval = (high - low) / np.float32(_STEPS)
    inverse = np.float32(65536) / (output_step * np.float32(_HIGH) - output_step * np.float32(_LOW))
    entries = []
    for i in range(_STEPS):
        start = low + np.float32(i) * interval
        value = _round(function(start) * inverse)
        next_value = function(low + np.float32(i + 1) * interval) * inverse
        middle = _round(function(start + interval / np.float32(2)) * inverse)
        error = _round((next_value + value) / np.float32(2)) - middle
        entries.append(value - _round(error / np.float32(2)))
    entries.append(_round(function(high) * inverse))
    return np.clip(np.nan_to_num(np.array(entries)), _LOW, _HIGH).astype(np.int16)


def _round(value: np.float32) -> np.float32:
    if not math.isfinite(value):
        return value
    return np.float32(math.copysign(math.floor(abs(float(value)) + 0.5), float(value)))
