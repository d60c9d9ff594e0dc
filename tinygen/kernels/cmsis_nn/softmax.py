"""Softmax."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Library, Lowerings, Toolbox
from tinygen.ops.requantize import Multiplier
from tinygen.ops.softmax import Softmax

LONG_ROW = 512
"""Exponentials that add up to this much make CMSIS-NN shift an int32 by 32 bits: undefined in C, with a result that
differs between cores and compilers. Shorter rows cannot get there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxS8(Kernel):
    """arm_softmax_s8."""

    template: ClassVar[str] = "softmax_s8"
    output_element: ClassVar[str] = "int8_t"

    num_rows: int
    row_size: int
    scaling: Multiplier
    diff_min: int


@dataclass(frozen=True, eq=False, kw_only=True)
class LongSoftmaxS8(SoftmaxS8):
    """tg_softmax_s8: the same for rows of any length."""

    header: ClassVar[str] = "tg_softmax.h"


def lower_softmax(op: Op, toolbox: Toolbox) -> Kernel:
    """The softmax kernel for `op`."""
    assert isinstance(op, Softmax)
    is_long = toolbox.library is Library.CMSIS_NN and op.row_size >= LONG_ROW
    kind, function = (LongSoftmaxS8, "tg_softmax_s8") if is_long else (SoftmaxS8, "arm_softmax_s8")
    return kind(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        in_place=(op.input,),
        num_rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        scaling=op.scaling,
        diff_min=op.diff_min,
    )


LOWERINGS: Lowerings = {Softmax: lower_softmax}
