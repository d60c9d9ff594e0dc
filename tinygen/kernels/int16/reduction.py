"""Reductions of int16."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.tinygen_c.reduction import ReduceExtremeS8, SumS8
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum


@dataclass(frozen=True, eq=False, kw_only=True)
class SumS16(SumS8):
    """tg_sum_s16."""

    element: ClassVar[str] = "int16_t"


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceExtremeS16(ReduceExtremeS8):
    """tg_reduce_extreme_s16."""

    element: ClassVar[str] = "int16_t"


def lower_sum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A sum, whose multiplier contains the division of a mean."""
    assert isinstance(op, Mean | Sum)
    return SumS16(
        function="tg_sum_s16",
        reads=(op.input,),
        writes=(op.output,),
        extents=op.extents,
        offset=0,
        scaling=op.scaling,
        output_zero_point=0,
    )


def lower_extreme(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Largest or smallest value."""
    assert isinstance(op, ReduceMax | ReduceMin)
    return ReduceExtremeS16(
        function="tg_reduce_extreme_s16",
        reads=(op.input,),
        writes=(op.output,),
        extents=op.extents,
        which="TG_LARGEST" if isinstance(op, ReduceMax) else "TG_SMALLEST",
    )


LOWERINGS: Lowerings = {Mean: lower_sum, ReduceMax: lower_extreme, ReduceMin: lower_extreme, Sum: lower_sum}
