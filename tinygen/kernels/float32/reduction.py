"""Reductions, arg max and softmax on float32."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.reduction import Extents, Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.softmax import Softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class SumF32(Kernel):
    """tg_sum_f32: sums and means."""

    template: ClassVar[str] = "sum_f32"
    header: ClassVar[str] = "tg_float.h"

    extents: Extents
    factor: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceExtremeF32(Kernel):
    """tg_reduce_extreme_f32."""

    template: ClassVar[str] = "reduce_extreme_f32"
    header: ClassVar[str] = "tg_float.h"

    extents: Extents
    which: str  # the enumerator's name


@dataclass(frozen=True, eq=False, kw_only=True)
class ArgMaxF32(Kernel):
    """tg_arg_max_f32 and tg_arg_max_f32_s64."""

    template: ClassVar[str] = "arg_max_f32"
    header: ClassVar[str] = "tg_float.h"

    outer: int
    size: int
    inner: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxF32(Kernel):
    """tg_softmax_f32."""

    template: ClassVar[str] = "softmax_f32"
    header: ClassVar[str] = "tg_float.h"

    rows: int
    row_size: int
    beta: float


def lower_sum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Sum or mean."""
    assert isinstance(op, Mean | Sum)
    return SumF32(
        function="tg_sum_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        extents=op.extents,
        factor=op.real_factor,
    )


def lower_extreme(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Largest or smallest value."""
    assert isinstance(op, ReduceMax | ReduceMin)
    return ReduceExtremeF32(
        function="tg_reduce_extreme_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        extents=op.extents,
        which="TG_LARGEST" if isinstance(op, ReduceMax) else "TG_SMALLEST",
    )


def lower_arg_max(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Index of the largest value."""
    assert isinstance(op, ArgMax)
    wide = op.output.type.dtype is DType.INT64
    return ArgMaxF32(
        function="tg_arg_max_f32_s64" if wide else "tg_arg_max_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        outer=op.outer,
        size=op.size,
        inner=op.inner,
    )


def lower_softmax(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Softmax over the last axis."""
    assert isinstance(op, Softmax)
    return SoftmaxF32(
        function="tg_softmax_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        rows=op.input.type.elements // op.row_size,
        row_size=op.row_size,
        beta=op.beta,
    )


LOWERINGS: Lowerings = {
    ArgMax: lower_arg_max,
    Mean: lower_sum,
    ReduceMax: lower_extreme,
    ReduceMin: lower_extreme,
    Softmax: lower_softmax,
    Sum: lower_sum,
}
