"""Resizing of images."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import DType, TensorType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.shapes import Dims
from tinygen.ops.interpolate import InterpolateStored, Neighbours
from tinygen.ops.resize import ResizeBilinear, ResizeNearest, Sampling


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeKernel(Kernel):
    """From images of one height and width to another."""

    header: ClassVar[str] = "tg_resize.h"
    element: ClassVar[str] = "int8_t"

    input_dims: Dims
    output_dims: Dims


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeNearestS8(ResizeKernel):
    """tg_resize_nearest_s8, with tables `rows` and `columns`."""

    template: ClassVar[str] = "resize_nearest_s8"


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeBilinearS8(ResizeKernel):
    """tg_resize_bilinear_s8."""

    template: ClassVar[str] = "resize_bilinear_s8"

    vertical: Sampling
    horizontal: Sampling


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeBilinearS16(ResizeBilinearS8):
    """tg_resize_bilinear_s16."""

    element: ClassVar[str] = "int16_t"


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeLinearS8(ResizeKernel):
    """tg_resize_linear_s8, with tables of positions and weights."""

    template: ClassVar[str] = "resize_linear_s8"


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeLinearS16(ResizeLinearS8):
    """tg_resize_linear_s16."""

    element: ClassVar[str] = "int16_t"


def lower_resize_nearest(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Copies; the source of each row and column is found here, so that the target needs no float arithmetic."""
    assert isinstance(op, ResizeNearest)
    return ResizeNearestS8(
        function="tg_resize_nearest_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("rows", np.array(op.rows, np.int16)), Table("columns", np.array(op.columns, np.int16))),
        input_dims=_in_bytes(op.input.type),
        output_dims=_in_bytes(op.output.type),
    )


def lower_resize_bilinear(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Integer interpolation."""
    assert isinstance(op, ResizeBilinear)
    is_wide = op.output.type.dtype is DType.INT16
    kind = ResizeBilinearS16 if is_wide else ResizeBilinearS8
    return kind(
        function="tg_resize_bilinear_s16" if is_wide else "tg_resize_bilinear_s8",
        reads=(op.input,),
        writes=(op.output,),
        input_dims=Dims.nhwc(op.input.type),
        output_dims=Dims.nhwc(op.output.type),
        vertical=op.vertical,
        horizontal=op.horizontal,
    )


def lower_interpolation(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Integer interpolation; positions are found here."""
    assert isinstance(op, InterpolateStored)
    is_wide = op.output.type.dtype is DType.INT16
    kind = ResizeLinearS16 if is_wide else ResizeLinearS8
    return kind(
        function="tg_resize_linear_s16" if is_wide else "tg_resize_linear_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(*_lines("row", op.rows), *_lines("column", op.columns)),
        input_dims=Dims.nhwc(op.input.type),
        output_dims=Dims.nhwc(op.output.type),
    )


def _lines(name: str, lines: Neighbours) -> tuple[Table, ...]:
    before, after = (np.array(numbers, np.int16) for numbers in (lines.before, lines.after))
    return Table(f"{name}s_before", before), Table(f"{name}s_after", after), Table(f"{name}_weights", lines.fixed)


def _in_bytes(type: TensorType) -> Dims:
    """NHWC with a channel per byte: elements of any size are copied so."""
    batch, height, width, channels = type.shape
    return Dims(batch, height, width, channels * type.dtype.bytes)


LOWERINGS: Lowerings = {
    InterpolateStored: lower_interpolation,
    ResizeBilinear: lower_resize_bilinear,
    ResizeNearest: lower_resize_nearest,
}
