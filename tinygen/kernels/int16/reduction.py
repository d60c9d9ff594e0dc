"""Means of int16."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.tinygen_c.reduction import SumS8
from tinygen.ops.reduction import Mean


@dataclass(frozen=True, eq=False, kw_only=True)
class SumS16(SumS8):
    """tg_sum_s16."""

    element: ClassVar[str] = "int16_t"


def lower_mean(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A sum whose multiplier contains the division."""
    assert isinstance(op, Mean)
    return SumS16(
        function="tg_sum_s16",
        reads=(op.input,),
        writes=(op.output,),
        extents=op.extents,
        offset=0,
        scaling=op.scaling,
        output_zero_point=0,
    )


LOWERINGS: Lowerings = {Mean: lower_mean}
