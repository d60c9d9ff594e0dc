"""Quantization at run time: the scale of a tensor, and its levels."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicRangeF32(Kernel):
    """tg_dynamic_range_f32."""

    template: ClassVar[str] = "dynamic_range_f32"
    header: ClassVar[str] = "tg_float.h"

    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicQuantizeF32(Kernel):
    """tg_dynamic_quantize_f32."""

    template: ClassVar[str] = "dynamic_quantize_f32"
    header: ClassVar[str] = "tg_float.h"

    size: int


def lower_dynamic_range(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Scale and zero point."""
    assert isinstance(op, DynamicRange)
    return DynamicRangeF32(
        function="tg_dynamic_range_f32",
        reads=(op.input,),
        writes=op.outputs,
        tables=constant_tables(op.input),
        size=op.input.type.elements,
    )


def lower_dynamic_quantize(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Levels."""
    assert isinstance(op, DynamicQuantize)
    return DynamicQuantizeF32(
        function="tg_dynamic_quantize_f32",
        reads=(op.input, op.scale, op.zero_point),
        writes=(op.output,),
        tables=constant_tables(op.input, op.scale, op.zero_point),
        in_place=(op.input,),
        size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {DynamicQuantize: lower_dynamic_quantize, DynamicRange: lower_dynamic_range}
