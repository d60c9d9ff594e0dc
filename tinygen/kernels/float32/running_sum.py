"""Averages of float32 as their rows come."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.running_sum import DivideSums, SumRows


@dataclass(frozen=True, eq=False, kw_only=True)
class SumRowsF32(Kernel):
    """tg_sum_rows_f32; the first rows clear the sums."""

    template: ClassVar[str] = "sum_rows_f32"
    header: ClassVar[str] = "tg_running_sum.h"

    pixels: int
    channels: int
    is_first: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class DivideSumsF32(Kernel):
    """tg_divide_sums_f32."""

    template: ClassVar[str] = "divide_sums_f32"
    header: ClassVar[str] = "tg_running_sum.h"

    channels: int
    count: int
    bounds: Clamp


def lower_sum_rows(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Add rows to the sums, which lie where they lay before."""
    assert isinstance(op, SumRows)
    channels = op.input.shape[-1]
    return SumRowsF32(
        function="tg_sum_rows_f32",
        reads=(op.input,),
        writes=(op.output,),
        updates=() if op.before is None else (op.before,),
        pixels=op.input.type.elements // channels,
        channels=channels,
        is_first=op.before is None,
    )


def lower_divide_sums(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Finish an average pool."""
    assert isinstance(op, DivideSums)
    return DivideSumsF32(
        function="tg_divide_sums_f32",
        reads=(op.input,),
        writes=(op.output,),
        channels=op.input.type.elements,
        count=op.count,
        bounds=op.clamp,
    )


LOWERINGS: Lowerings = {DivideSums: lower_divide_sums, SumRows: lower_sum_rows}
