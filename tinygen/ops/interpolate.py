"""Linear interpolation of images, between rows and columns that are known while compiling."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Link, linked
from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Channels, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_rank, check_same_quantization, check_shape, check_stored

WEIGHT_BITS = 20  # behind the point, of what is stored


@dataclass(frozen=True)
class Neighbours:
    """For each output position the input positions before and after it, and how far it lies from the former."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    weights: tuple[float, ...]

    @classmethod
    def at(cls, positions: Sequence[float], size: int) -> "Neighbours":
        """The neighbours of positions in an input of `size`, whose edges go on for ever."""
        within = [min(max(position, 0.0), size - 1.0) for position in positions]
        before = tuple(math.floor(position) for position in within)
        after = tuple(min(index + 1, size - 1) for index in before)
        return cls(before, after, tuple(position - index for position, index in zip(within, before, strict=True)))

    @classmethod
    def resizing(cls, size: int, output_size: int, align_corners: bool, half_pixel_centers: bool) -> "Neighbours":
        """The neighbours of TFLite's RESIZE_BILINEAR along one axis."""
        aligned = align_corners and output_size > 1
        step = (size - 1) / (output_size - 1) if aligned else size / output_size
        centre = 0.5 if half_pixel_centers else 0.0
        return cls.at([(index + centre) * step - centre for index in range(output_size)], size)

    def part(self, rows: Rows, first: int) -> "Neighbours":
        """Those of some rows of the result, in an input that begins with row `first`."""
        before, after = (
            tuple(row - first for row in all_rows[rows.first : rows.end]) for all_rows in (self.before, self.after)
        )
        return Neighbours(before, after, self.weights[rows.first : rows.end])

    @property
    def fixed(self) -> npt.NDArray[np.int32]:
        """The weights in `WEIGHT_BITS`."""
        fixed: npt.NDArray[np.int32] = np.rint(np.array(self.weights) * (1 << WEIGHT_BITS)).astype(np.int32)
        return fixed

    def verify(self, size: int, output_size: int) -> None:
        """Raise ValueError unless they are positions in an input of `size`, one for each output."""
        if not len(self.before) == len(self.after) == len(self.weights) == output_size:
            raise ValueError(f"{len(self.before)} positions were given for {output_size} outputs")
        if not all(0 <= index < size for index in (*self.before, *self.after)):
            raise ValueError(f"a position lies outside of {size} inputs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Interpolate(Op):
    """Each output pixel lies between four input pixels."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [N, H, W, C], float32
    output: Tensor  # [N, OH, OW, C], float32
    rows: Neighbours
    columns: Neighbours

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_dtype(role, tensor, DType.FLOAT32)
            check_rank(role, tensor, 4)
        batch, height, width, channels = self.input.shape
        check_shape("output", self.output, (batch, *self.output.shape[1:3], channels))
        self.rows.verify(height, self.output.shape[1])
        self.columns.verify(width, self.output.shape[2])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        image, one = values[self.input].astype(np.float32, copy=False), np.float32(1)
        down = np.array(self.rows.weights, np.float32)[:, None, None]
        across = np.array(self.columns.weights, np.float32)[:, None]
        narrow = image[:, :, self.columns.before] * (one - across) + image[:, :, self.columns.after] * across
        result: Float32Array = narrow[:, self.rows.before] * (one - down) + narrow[:, self.rows.after] * down
        return (result,)


@dataclass(frozen=True, eq=False, kw_only=True)
class InterpolateStored(Op):
    """The same of int8 or int16, whose quantization stays: integers with weights of 20 bits, rounded once, ties up.

    A result is within 0.5 + 2**-4 steps of the real number: two weights are 2**-21 off, of numbers that 16 bits hold.
    """

    result_range: ClassVar[Range] = Range.OF_OPERAND

    input: Tensor  # [N, H, W, C]
    output: Tensor  # [N, OH, OW, C]
    rows: Neighbours
    columns: Neighbours

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("interpolation", f"weights of {WEIGHT_BITS} bits, rounded once"),)

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.input)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return Rows(min(self.rows.before[rows.first : rows.end]), max(self.rows.after[rows.first : rows.end]) + 1)

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - there is only one
        return channels

    @property
    def tile_kind(self) -> Hashable:
        return self.rows

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        (operand,) = tile.operands
        assert isinstance(tile.op, InterpolateStored)
        return replace(tile, op=replace(tile.op, rows=self.rows.part(rows, operand.rows.first)))

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_stored(role, tensor)
            check_rank(role, tensor, 4)
        check_same_quantization(self.input, self.output)
        batch, height, width, channels = self.input.shape
        check_shape("output", self.output, (batch, *self.output.shape[1:3], channels))
        self.rows.verify(height, self.output.shape[1])
        self.columns.verify(width, self.output.shape[2])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        image, one = values[self.input].astype(np.int64), 1 << WEIGHT_BITS
        down = self.rows.fixed.astype(np.int64)[:, None, None]
        across = self.columns.fixed.astype(np.int64)[:, None]
        narrow = image[:, :, self.columns.before] * (one - across) + image[:, :, self.columns.after] * across
        total = (narrow[:, self.rows.before] * (one - down) + narrow[:, self.rows.after] * down).astype(np.int64)
        rounded = (total + (1 << (2 * WEIGHT_BITS - 1))) >> (2 * WEIGHT_BITS)
        return (rounded.astype(self.output.type.dtype.numpy),)
