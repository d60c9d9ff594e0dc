"""Averages as their rows come."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Multiplier
from tinygen.ops.running_sum import DivideSums, ScaleSums, SumRows

_ADD, _DIVIDE = "tg_sum_rows_s8", "tg_divide_sums_s8"


def adding_rows(elements: float, channels: int, calls: int = 1) -> Work:
    """Of adding elements to the sums of their channels."""
    return work(_ADD, call=calls, operand=elements, output=calls * channels)


def dividing(channels: int) -> Work:
    """Of turning sums into averages."""
    return work(_DIVIDE, call=1, operand=channels, output=channels)


@dataclass(frozen=True, eq=False, kw_only=True)
class SumRowsS8(Kernel):
    """tg_sum_rows_s8; the first rows clear the sums."""

    template: ClassVar[str] = "sum_rows_s8"
    header: ClassVar[str] = "tg_running_sum.h"

    pixels: int
    channels: int
    is_first: bool

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - always all
        return adding_rows(self.pixels * self.channels, self.channels)


@dataclass(frozen=True, eq=False, kw_only=True)
class DivideSumsS8(Kernel):
    """tg_divide_sums_s8."""

    template: ClassVar[str] = "divide_sums_s8"
    header: ClassVar[str] = "tg_running_sum.h"

    channels: int
    count: int
    activation: Clamp

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - always all
        return dividing(self.channels)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleSumsS8(Kernel):
    """tg_scale_sums_s8."""

    template: ClassVar[str] = "scale_sums_s8"
    header: ClassVar[str] = "tg_running_sum.h"

    channels: int
    offset: int
    scaling: Multiplier
    zero_point: int


def lower_sum_rows(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Add rows to the sums, which lie where they lay before."""
    assert isinstance(op, SumRows)
    channels = op.input.shape[-1]
    return SumRowsS8(
        function=_ADD,
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
    return DivideSumsS8(
        function=_DIVIDE,
        reads=(op.input,),
        writes=(op.output,),
        channels=op.input.type.elements,
        count=op.count,
        activation=op.clamp,
    )


def lower_scale_sums(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Finish a mean."""
    assert isinstance(op, ScaleSums)
    return ScaleSumsS8(
        function="tg_scale_sums_s8",
        reads=(op.input,),
        writes=(op.output,),
        channels=op.input.type.elements,
        offset=op.offset,
        scaling=op.scaling,
        zero_point=op.output.type.zero_point,
    )


LOWERINGS: Lowerings = {DivideSums: lower_divide_sums, ScaleSums: lower_scale_sums, SumRows: lower_sum_rows}
