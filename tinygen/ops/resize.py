"""Resizing of images: nearest neighbour and bilinear."""

import math
from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_same_quantization, check_shape
from tinygen.ops.requantize import Int64Array

POSITION_BITS = 10  # fractional bits of a position in the input, for bilinear interpolation
_ONE = 1 << POSITION_BITS
_LARGEST_SIZE = 32767  # positions of rows and columns are int16 in the tables of the target


@dataclass(frozen=True, eq=False, kw_only=True)
class _Resize(Op):
    """From one height and width to another; quantization stays. At most one of the two flags is set for bilinear."""

    input: Tensor  # [N, H, W, C]
    output: Tensor  # [N, OH, OW, C]
    align_corners: bool  # the centres of the corner pixels fall together
    half_pixel_centers: bool  # pixels are areas, not points

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
            check_per_tensor(role, tensor)
            check_rank(role, tensor, 4)
            if tensor.type.elements == 0:
                raise ValueError(f"{role} '{tensor.name}' has shape {list(tensor.shape)}, without any element")
            if max(tensor.shape[1:3]) > _LARGEST_SIZE:
                raise ValueError(
                    f"{role} '{tensor.name}' has shape {list(tensor.shape)}, at most {_LARGEST_SIZE} rows and columns "
                    "were expected"
                )
        check_same_quantization(self.input, self.output)
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], self.input.shape[3]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeNearest(_Resize):
    """Each output pixel is a copy of the input pixel that is nearest by TFLite's single precision arithmetic."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The input row of each output row."""
        return self._sources(self.input.shape[1], self.output.shape[1])

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
    """Interpolation between four pixels, all in integers (TFLite's ResizeBilinearInteger)."""

    @property
    def vertical(self) -> Sampling:
        """Positions of the output rows."""
        return self._sampling(self.input.shape[1], self.output.shape[1])

    @property
    def horizontal(self) -> Sampling:
        """Positions of the output columns."""
        return self._sampling(self.input.shape[2], self.output.shape[2])

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
        return (rounded.astype(np.int8),)

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
