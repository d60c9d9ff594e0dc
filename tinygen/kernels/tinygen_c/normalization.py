"""The logarithm of softmax, rows divided by their length, elements less their mean over their deviation."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.l2_normalization import L2Normalization
from tinygen.ops.log_softmax import LogSoftmax
from tinygen.ops.requantize import Multiplier
from tinygen.ops.standardize import Standardize


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


@dataclass(frozen=True, eq=False, kw_only=True)
class StandardizeS8(Kernel):
    """tg_standardize_s8."""

    template: ClassVar[str] = "standardize"
    header: ClassVar[str] = "tg_normalization.h"
    element: ClassVar[str] = "int8_t"

    outer: int
    size: int
    inner: int
    centers: int
    channel_step: int
    channels: int
    input_offset: int
    output_offset: int
    fraction_bits: int
    shift: int
    floor: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """mean: groups of elements with one; element: their elements."""
        elements = self.outer * self.size * self.inner * Extent.of(op, rows, columns).share
        return work(self.function, call=1, mean=elements / self.size, element=elements)


@dataclass(frozen=True, eq=False, kw_only=True)
class StandardizeS16(StandardizeS8):
    """tg_standardize_s16."""

    element: ClassVar[str] = "int16_t"


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


def lower_standardize(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Elements less their mean, over their deviation, of either width."""
    assert isinstance(op, Standardize)
    is_wide = op.output.type.dtype is DType.INT16
    kind, function = (StandardizeS16, "tg_standardize_s16") if is_wide else (StandardizeS8, "tg_standardize_s8")
    outer, size, inner = op.extents
    return kind(
        function=function,
        reads=(op.factors, op.summands, op.input),
        writes=(op.output,),
        tables=constant_tables(op.factors, op.summands, op.input),
        in_place=(op.input,),
        outer=outer,
        size=size,
        inner=inner,
        centers=int(op.centers),
        channel_step=op.channel_step,
        channels=op.factors.type.elements,
        input_offset=-op.input.type.zero_point,
        output_offset=op.output.type.zero_point,
        fraction_bits=op.fraction_bits,
        shift=op.shift,
        floor=op.floor,
    )


LOWERINGS: Lowerings = {
    L2Normalization: lower_l2_normalization,
    LogSoftmax: lower_log_softmax,
    Standardize: lower_standardize,
}
