"""Softmax."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.ops.requantize import Multiplier
from tinygen.ops.softmax import Softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxS8(Kernel):
    """arm_softmax_s8."""

    template: ClassVar[str] = "softmax_s8"

    num_rows: int
    row_size: int
    scaling: Multiplier
    diff_min: int


def lower_softmax(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The softmax kernel for `op`."""
    assert isinstance(op, Softmax)
    return SoftmaxS8(
        function="arm_softmax_s8",
        reads=(op.input,),
        writes=(op.output,),
        in_place=(op.input,),
        num_rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        scaling=op.scaling,
        diff_min=op.diff_min,
    )
