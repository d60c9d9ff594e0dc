"""Resizing of images: nearest neighbour and bilinear."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.channels import Intervals, Link, linked, united
from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Channels, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import (
    check_activations,
    check_numbers,
    check_only_moved,
    check_rank,
    check_same_quantization,
    check_shape,
    check_stored,
)
from tinygen.ops.interpolate import Neighbours
from tinygen.ops.requantize import Int64Array

POSITION_BITS = 10  # fractional bits of a position in the input, for bilinear interpolation
_ONE = 1 << POSITION_BITS
_LARGEST_SIZE = 32767  # positions of rows and columns are int16 in the tables of the target


@dataclass(frozen=True)
class Band:
    """Where some rows of a resize stand in the whole of it."""

    input_height: int  # of the whole
    output_height: int
    first_input: int  # row of the whole that the band begins with
    first_output: int


@dataclass(frozen=True, eq=False, kw_only=True)
class _Resize(Op):
    """From one height and width to another; quantization stays. At most one of the two flags is set for bilinear."""

    result_range: ClassVar[Range] = Range.OF_OPERAND

    input: Tensor  # [N, H, W, C]
    output: Tensor  # [N, OH, OW, C]
    align_corners: bool  # the centres of the corner pixels fall together
    half_pixel_centers: bool  # pixels are areas, not points
    band: Band | None = None  # where this is not the whole resize

    @property
    def placed_band(self) -> Band:
        """The band; all of the image where there is none."""
        return self.band or Band(self.input.shape[1], self.output.shape[1], 0, 0)

    def source_rows(self, row: int) -> Rows:
        """The input rows that an output row is made from, both counted within the band; they ascend."""
        raise NotImplementedError

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return Rows(self.source_rows(rows.first).first, self.source_rows(rows.end - 1).end)

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - there is only one
        return channels

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        (operand,), band = tile.operands, self.placed_band
        part = replace(
            band, first_input=band.first_input + operand.rows.first, first_output=band.first_output + rows.first
        )
        return replace(tile, op=replace(tile.op, band=part))  # type: ignore[call-arg]

    def channel_links(self) -> tuple[Link, ...]:
        return linked(self.output, self.input)

    def check_types(self) -> None:
        """Raise ValueError where element types or quantizations are none that the operator takes."""
        check_numbers(("input", self.input), ("output", self.output))
        check_same_quantization(self.input, self.output)

    def verify(self) -> None:
        self.check_types()
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_rank(role, tensor, 4)
            if tensor.type.elements == 0:
                raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, without any element")
            if max(tensor.shape[1:3]) > _LARGEST_SIZE:
                raise ValueError(
                    f"{role} '{tensor.name}' has shape {list(tensor.shape)}, at most {_LARGEST_SIZE} rows and columns "
                    "were expected"
                )
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], self.input.shape[3]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeNearest(_Resize):
    """Each output pixel is a copy of the input pixel that is nearest by TFLite's single precision arithmetic."""

    result_range: ClassVar[Range] = Range.MOVED

    def check_types(self) -> None:
        check_only_moved(self.input, self.output)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The input row of each output row."""
        band = self.placed_band
        sources = self._sources(band.input_height, band.output_height)[band.first_output :][: self.output.shape[1]]
        return tuple(source - band.first_input for source in sources)

    @property
    def tile_kind(self) -> Hashable:
        return self.rows

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def source_rows(self, row: int) -> Rows:
        return Rows(self.rows[row], self.rows[row] + 1)

    @property
    def columns(self) -> tuple[int, ...]:
        """The input column of each output column."""
        return self._sources(self.input.shape[2], self.output.shape[2])

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.ascontiguousarray(values[self.input][:, self.rows][:, :, self.columns]),)

    def _sources(self, input_size: int, output_size: int) -> tuple[int, ...]:
        aligned = self.align_corners and output_size > 1
        ends = (input_size - 1, output_size - 1) if aligned else (input_size, output_size)
        scale = np.float32(ends[0]) / np.float32(ends[1])
        centre = np.float32(0.5 if self.half_pixel_centers else 0)
        positions = [float((np.float32(index) + centre) * scale) for index in range(output_size)]
        nearest = [math.floor(p + 0.5) if self.align_corners else math.floor(p) for p in positions]
        return tuple(min(source, input_size - 1) for source in nearest)


@dataclass(frozen=True)
class Sampling:
    """Positions in the input, in 1/1024 pixel: `offset + index * step`."""

    step: int
    offset: int

    def positions(self, count: int) -> Int64Array:
        """The positions of the first `count` output pixels; may be negative."""
        return self.offset + self.step * np.arange(count, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeBilinear(_Resize):
    """Interpolation between four pixels, of int8 or int16, all in integers (TFLite's ResizeBilinearInteger)."""

    def check_types(self) -> None:
        check_stored("output", self.output)
        check_activations(("input", self.input), ("output", self.output))
        check_same_quantization(self.input, self.output)

    @property
    def vertical(self) -> Sampling:
        """Positions of the output rows."""
        band = self.placed_band
        whole = self._sampling(band.input_height, band.output_height)
        moved = band.first_output * whole.step - band.first_input * _ONE
        return replace(whole, offset=whole.offset + moved)

    @property
    def tile_kind(self) -> Hashable:
        return self.vertical

    def source_rows(self, row: int) -> Rows:
        position = self.vertical.offset + row * self.vertical.step
        first, last = max(position >> POSITION_BITS, 0), (position + _ONE - 1) >> POSITION_BITS
        return Rows(first, min(last, self.input.shape[1] - 1) + 1)

    @property
    def horizontal(self) -> Sampling:
        """Positions of the output columns."""
        return self._sampling(self.input.shape[2], self.output.shape[2])

    @property
    def exact_rows(self) -> Neighbours:
        """Between which rows each output row lies, by positions of 10 bits."""
        return _lines(self.vertical, self.output.shape[1], self.input.shape[1])

    @property
    def exact_columns(self) -> Neighbours:
        """The same of columns."""
        return _lines(self.horizontal, self.output.shape[2], self.input.shape[2])

    def verify(self) -> None:
        super().verify()
        if self.align_corners and self.half_pixel_centers:
            raise ValueError("align_corners and half_pixel_centers are both set, one of them was expected")
        for axis, sampling in ((1, self.vertical), (2, self.horizontal)):
            last = int(sampling.positions(self.output.shape[axis])[-1])
            if last >= self.input.shape[axis] * _ONE:
                raise ValueError(
                    f"resizing {self.input.shape[axis]} to {self.output.shape[axis]} along axis {axis} rounds to a "
                    f"step of {sampling.step}/1024 pixels, whose last position lies outside of the input"
                )

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("interpolation", "weights of 10 bits, rounded once"),)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        image = values[self.input].astype(np.int64)
        above, below, down = _neighbours(self.vertical.positions(self.output.shape[1]), self.input.shape[1])
        left, right, across = _neighbours(self.horizontal.positions(self.output.shape[2]), self.input.shape[2])
        down, across = down[:, None, None], across[:, None]
        top = image[:, above][:, :, left] * (_ONE - across) + image[:, above][:, :, right] * across
        bottom = image[:, below][:, :, left] * (_ONE - across) + image[:, below][:, :, right] * across
        total = top * (_ONE - down) + bottom * down
        half = _ONE * _ONE // 2
        rounded = np.where(total > 0, (total + half) // _ONE**2, -((half - total) // _ONE**2))
        return (rounded.astype(self.output.type.dtype.numpy),)

    def _sampling(self, input_size: int, output_size: int) -> Sampling:
        aligned = self.align_corners and output_size > 1
        numerator, denominator = (input_size - 1, output_size - 1) if aligned else (input_size, output_size)
        step = (_ONE * numerator + denominator // 2) // denominator
        return Sampling(step, step // 2 - _ONE // 2 if self.half_pixel_centers else 0)


def _neighbours(positions: Int64Array, size: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Pixel before, pixel after, and the weight of the latter in 1/1024 (negative before the first pixel)."""
    before = np.maximum(positions >> POSITION_BITS, 0)
    after = np.minimum((positions + _ONE - 1) >> POSITION_BITS, size - 1)
    return before, after, positions - before * _ONE


def _lines(sampling: Sampling, count: int, size: int) -> Neighbours:
    return Neighbours.at([position / _ONE for position in sampling.positions(count).tolist()], size)
