"""The logarithm of softmax, and rows divided by their length."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.ops.l2_normalization import L2Normalization
from tinygen.ops.log_softmax import LogSoftmax
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class LogSoftmaxS8(Kernel):
    """tg_log_softmax_s8."""

    template: ClassVar[str] = "log_softmax_s8"
    header: ClassVar[str] = "tg_softmax.h"

    rows: int
    row_size: int
    scaling: Multiplier
    reverse: Multiplier
    diff_min: int


@dataclass(frozen=True, eq=False, kw_only=True)
class L2NormalizeS8(Kernel):
    """tg_l2_normalize_s8."""

    template: ClassVar[str] = "l2_normalize_s8"
    header: ClassVar[str] = "tg_normalization.h"

    rows: int
    row_size: int
    input_offset: int
    early_bits: int


def lower_log_softmax(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The logarithm of softmax, row by row."""
    assert isinstance(op, LogSoftmax)
    return LogSoftmaxS8(
        function="tg_log_softmax_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        scaling=op.scaling,
        reverse=op.reverse_scaling,
        diff_min=op.diff_min,
    )


def lower_l2_normalization(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Rows divided by their length, one by one."""
    assert isinstance(op, L2Normalization)
    return L2NormalizeS8(
        function="tg_l2_normalize_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        input_offset=-op.input.type.zero_point,
        early_bits=op.early_bits,
    )


LOWERINGS: Lowerings = {L2Normalization: lower_l2_normalization, LogSoftmax: lower_log_softmax}
