"""Softmax on int16."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.softmax import LongSoftmaxS8
from tinygen.ops.requantize import Multiplier
from tinygen.ops.softmax import Softmax
from tinygen.ops.softmax_int16 import exponential_table, reciprocal_table


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxS16(Kernel):
    """tg_softmax_s16; the sums of arm_softmax_s16 overflow in some rows of more than eight elements."""

    template: ClassVar[str] = "softmax_s16"
    header: ClassVar[str] = "tg_int16.h"

    rows: int
    row_size: int
    scaling: Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class WideningSoftmax(LongSoftmaxS8):
    """tg_softmax_s8_s16: from int8 to int16."""

    output_element: ClassVar[str] = "int16_t"


def lower_softmax(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The softmax kernel for `op`."""
    assert isinstance(op, Softmax)
    if op.widens:
        return WideningSoftmax(
            function="tg_softmax_s8_s16",
            reads=(op.input,),
            writes=(op.output,),
            num_rows=op.input.type.elements // op.row_size,
            row_size=op.row_size,
            scaling=op.scaling,
            diff_min=op.diff_min,
        )
    return SoftmaxS16(
        function="tg_softmax_s16",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("exponential", exponential_table()), Table("reciprocal", reciprocal_table())),
        in_place=(op.input,),
        rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        scaling=op.scaling,
    )


LOWERINGS: Lowerings = {Softmax: lower_softmax}
