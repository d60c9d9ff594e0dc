"""What moves float32 elements and is no plain copy: padding with a number, resizing, quantization inside of a model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.kernels.float32.windows import ImageStruct
from tinygen.kernels.tinygen_c.strided_copy import CopyAxis, StridedCopy, byte_steps, merged
from tinygen.ops.interpolate import Interpolate, Neighbours
from tinygen.ops.pad import Pad
from tinygen.ops.quantize import Dequantize, Quantize


@dataclass(frozen=True, eq=False, kw_only=True)
class PadF32(Kernel):
    """tg_fill_f32, then tg_strided_copy."""

    template: ClassVar[str] = "pad_f32"
    header: ClassVar[str] = "tg_movement_f32.h"

    size: int
    value: float
    copy: StridedCopy

    @property
    def callees(self) -> tuple[str, ...]:
        return ("tg_strided_copy",)


@dataclass(frozen=True, eq=False, kw_only=True)
class ResizeLinearF32(Kernel):
    """tg_resize_linear_f32, with tables of positions and weights."""

    template: ClassVar[str] = "resize_linear_f32"
    header: ClassVar[str] = "tg_float.h"

    batches: int
    input: ImageStruct
    output: ImageStruct


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertF32(Kernel):
    """tg_quantize_f32_s8, tg_dequantize_s8_f32, or those for s16, inside of a model."""

    template: ClassVar[str] = "convert_f32"
    header: ClassVar[str] = "tg_quantize.h"

    size: int
    scale: float
    zero_point: int


def lower_pad(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Fill all of the output, then copy the input into it."""
    assert isinstance(op, Pad)
    inputs, outputs = byte_steps(op.input), byte_steps(op.output)
    axes = [CopyAxis(*axis) for axis in zip(op.input.shape, inputs, outputs, strict=True)]
    offset = sum(before * step for before, step in zip(op.before, outputs, strict=True))
    return PadF32(
        function="tg_fill_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        size=op.output.type.elements,
        value=op.value,
        copy=merged(0, offset, op.input.type.dtype.bytes, axes),
    )


def lower_resize_linear(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Interpolation; positions are found here."""
    assert isinstance(op, Interpolate)
    tables = (*_tables("row", op.rows), *_tables("column", op.columns))
    return ResizeLinearF32(
        function="tg_resize_linear_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=(*constant_tables(op.input), *tables),
        batches=op.input.shape[0],
        input=ImageStruct.of(op.input.type),
        output=ImageStruct.of(op.output.type),
    )


def lower_conversion(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Quantize and Dequantize."""
    assert isinstance(op, Quantize | Dequantize)
    stored = op.output.type if isinstance(op, Quantize) else op.input.type
    element = "s16" if stored.dtype is DType.INT16 else "s8"
    return ConvertF32(
        function=f"tg_quantize_f32_{element}" if isinstance(op, Quantize) else f"tg_dequantize_{element}_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        size=stored.elements,
        scale=stored.scale,
        zero_point=stored.zero_point,
    )


def _tables(role: str, neighbours: Neighbours) -> tuple[Table, ...]:
    return (
        Table(f"{role}s_before", np.array(neighbours.before, np.int16)),
        Table(f"{role}s_after", np.array(neighbours.after, np.int16)),
        Table(f"{role}_weights", np.array(neighbours.weights, np.float32)),
    )


LOWERINGS: Lowerings = {
    Dequantize: lower_conversion,
    Interpolate: lower_resize_linear,
    Pad: lower_pad,
    Quantize: lower_conversion,
}
