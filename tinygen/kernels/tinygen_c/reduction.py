"""Reductions and arg max."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.pooling import PoolS8
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.tinygen_c.numbers import first_of
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.clamp import Clamp
from tinygen.ops.reduction import Extents, Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.requantize import Multiplier

_POOLED_CHANNELS = 4  # the pool compares that many at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class SumS8(Kernel):
    """tg_sum_s8: sums and means."""

    template: ClassVar[str] = "sum_s8"
    header: ClassVar[str] = "tg_reduction.h"
    element: ClassVar[str] = "int8_t"

    extents: Extents
    offset: int
    scaling: Multiplier
    output_zero_point: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceExtremeS8(Kernel):
    """tg_reduce_extreme_s8."""

    template: ClassVar[str] = "reduce_extreme_s8"
    header: ClassVar[str] = "tg_reduction.h"
    element: ClassVar[str] = "int8_t"

    extents: Extents
    which: str  # the enumerator's name


@dataclass(frozen=True, eq=False, kw_only=True)
class ArgMaxS8(Kernel):
    """tg_arg_max_s8 and tg_arg_max_s8_s64."""

    template: ClassVar[str] = "arg_max_s8"
    header: ClassVar[str] = "tg_reduction.h"

    outer: int
    size: int
    inner: int

    @property
    def index_type(self) -> str:
        """C type of an index."""
        return "int64_t" if self.writes[0].type.dtype is DType.INT64 else "int32_t"


def lower_sum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Sum or mean."""
    assert isinstance(op, (Mean, Sum))
    return SumS8(
        function="tg_sum_s8",
        reads=(op.input,),
        writes=(op.output,),
        extents=op.extents,
        offset=-op.input.type.zero_point * op.count,
        scaling=op.scaling,
        output_zero_point=op.output.type.zero_point,
    )


def lower_reduce_max(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A max pool over the whole of one group of axes, where it compares several channels at a time."""
    assert isinstance(op, ReduceMax)
    extents = op.extents
    if extents.first > 1 or extents.inner < _POOLED_CHANNELS:
        return _extreme(op, "TG_LARGEST")
    return PoolS8(
        function="arm_max_pool_s8",
        reads=(op.input,),
        writes=(op.output,),
        stride=TileStruct(w=1, h=1),
        padding=TileStruct(w=0, h=0),
        activation=Clamp.none(op.output.type),
        input_dims=Dims(extents.outer, 1, extents.second, extents.inner),
        filter_dims=Dims(1, 1, extents.second, 1),
        output_dims=Dims(extents.outer, 1, 1, extents.inner),
    )


def lower_reduce_min(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Smallest value."""
    assert isinstance(op, ReduceMin)
    return _extreme(op, "TG_SMALLEST")


def lower_arg_max(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Index of the largest value."""
    assert isinstance(op, ArgMax)
    if op.input.type.dtype is not DType.INT8:
        return first_of(op)
    wide = op.output.type.dtype is DType.INT64
    return ArgMaxS8(
        function="tg_arg_max_s8_s64" if wide else "tg_arg_max_s8",
        reads=(op.input,),
        writes=(op.output,),
        outer=op.outer,
        size=op.size,
        inner=op.inner,
    )


def _extreme(op: ReduceMax | ReduceMin, which: str) -> Kernel:
    return ReduceExtremeS8(
        function="tg_reduce_extreme_s8", reads=(op.input,), writes=(op.output,), extents=op.extents, which=which
    )


LOWERINGS: Lowerings = {
    ArgMax: lower_arg_max,
    Mean: lower_sum,
    ReduceMax: lower_reduce_max,
    ReduceMin: lower_reduce_min,
    Sum: lower_sum,
}
