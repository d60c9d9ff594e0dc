"""Comparisons, truth values, casts, arithmetic on integers without scales, cumulative sums, the largest."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.tinygen_c.elementwise import full_size
from tinygen.kernels.work import Work, work
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.binary import Broadcasting
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.cast import Cast
from tinygen.ops.comparison import Compare
from tinygen.ops.cumulative_sum import LEFT_SHIFT, CumulativeSum
from tinygen.ops.integer_arithmetic import IntegerArithmetic
from tinygen.ops.logic import LogicalAnd, LogicalOr, ReduceAll, ReduceAny
from tinygen.ops.reduction import Extents
from tinygen.ops.requantize import Multiplier
from tinygen.ops.top_k import TopK

_HEADER = "tg_numbers.h"
_SUFFIXES = {
    DType.BOOL: "u8",
    DType.UINT8: "u8",
    DType.INT8: "s8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.INT64: "s64",
    DType.UINT32: "u32",
    DType.FLOAT32: "f32",
}
_ELEMENTS: Mapping[DType, str] = {
    DType.BOOL: "TG_BOOL",
    **{dtype: f"TG_{_SUFFIXES[dtype].upper()}" for dtype in _SUFFIXES if dtype.is_integer},
}


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareAny(Kernel):
    """tg_compare_u8 and those of other element types."""

    template: ClassVar[str] = "compare"
    header: ClassVar[str] = _HEADER

    broadcast: Broadcast
    accepts: int


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareScaled(Kernel):
    """tg_compare_scaled_s8 and _s16."""

    template: ClassVar[str] = "compare_scaled"
    header: ClassVar[str] = _HEADER

    broadcast: Broadcast
    accepts: int
    left_shift: int
    first_offset: int
    first: Multiplier
    second_offset: int
    second: Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class Logical(Kernel):
    """tg_minimum_s8 and tg_maximum_s8 on truth values."""

    template: ClassVar[str] = "logical"
    header: ClassVar[str] = "tg_elementwise.h"

    broadcast: Broadcast

    @property
    def runner(self) -> str:
        return f"run_logical_{self.function}"


@dataclass(frozen=True, eq=False, kw_only=True)
class LogicalReduction(Kernel):
    """tg_reduce_extreme_s8 on truth values."""

    template: ClassVar[str] = "logical_reduction"
    header: ClassVar[str] = "tg_reduction.h"

    extents: Extents
    which: str  # the enumerator's name

    @property
    def runner(self) -> str:
        return f"run_logical_{self.function}"


@dataclass(frozen=True, eq=False, kw_only=True)
class CastAny(Kernel):
    """tg_cast_integers, tg_cast_integers_f32 and tg_cast_f32_integers."""

    template: ClassVar[str] = "cast"
    header: ClassVar[str] = _HEADER

    types: tuple[str, ...]  # the enumerators that it takes
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerArithmeticAny(Kernel):
    """tg_integer_arithmetic_s32 and _s64."""

    template: ClassVar[str] = "integer_arithmetic"
    header: ClassVar[str] = _HEADER

    broadcast: Broadcast
    which: str  # the enumerator's name
    least: str  # of the result, as C has it
    largest: str


@dataclass(frozen=True, eq=False, kw_only=True)
class CumulativeSumAny(Kernel):
    """tg_cumulative_sum_s32, _s64 and _f32."""

    template: ClassVar[str] = "cumulative_sum"
    header: ClassVar[str] = _HEADER

    outer: int
    size: int
    inner: int
    is_exclusive: bool
    is_reverse: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class CumulativeSumS8(CumulativeSumAny):
    """tg_cumulative_sum_s8."""

    template: ClassVar[str] = "cumulative_sum_s8"

    start: int
    offset: int
    left_shift: int
    scaling: Multiplier
    output_offset: int


@dataclass(frozen=True, eq=False, kw_only=True)
class TopKAny(Kernel):
    """tg_top_k_integers and tg_top_k_f32."""

    template: ClassVar[str] = "top_k"
    header: ClassVar[str] = _HEADER

    outer: int
    size: int
    inner: int
    count: int
    is_largest: bool
    element: str  # the enumerator of the input's type, where that has integers
    index: str

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - not split
        """element: looked at; step: of those in random order that are kept, past half of those that were found."""
        lines = self.outer * self.inner
        kept = self.count * (1 + log(self.size / self.count))
        return work(self.function, call=1, element=lines * self.size, step=lines * kept * (self.count + 1) / 2)


def lower_compare(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A comparison."""
    assert isinstance(op, Compare)
    suffix, accepts = _SUFFIXES[op.first.type.dtype], op.comparison.value.value
    reads, tables = (op.first, op.second), constant_tables(op.first, op.second)
    if not op.is_scaled:
        return CompareAny(
            function=f"tg_compare_{suffix}",
            reads=reads,
            writes=(op.output,),
            tables=tables,
            in_place=_in_place(op),
            broadcast=op.broadcast.padded,
            accepts=accepts,
        )
    first, second = op.scalings
    return CompareScaled(
        function=f"tg_compare_scaled_{suffix}",
        reads=reads,
        writes=(op.output,),
        tables=tables,
        in_place=_in_place(op),
        broadcast=op.broadcast.padded,
        accepts=accepts,
        left_shift=op.left_shift,
        first_offset=-op.first.type.zero_point,
        first=first,
        second_offset=-op.second.type.zero_point,
        second=second,
    )


def lower_logical(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """0 is less than 1: "and" is the smaller of both, "or" the larger one."""
    assert isinstance(op, LogicalAnd | LogicalOr)
    return Logical(
        function="tg_minimum_s8" if isinstance(op, LogicalAnd) else "tg_maximum_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=constant_tables(op.first, op.second),
        in_place=_in_place(op),
        broadcast=op.broadcast.padded,
    )


def lower_logical_reduction(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The smallest or the largest truth value."""
    assert isinstance(op, ReduceAll | ReduceAny)
    which = "TG_SMALLEST" if isinstance(op, ReduceAll) else "TG_LARGEST"
    return LogicalReduction(
        function="tg_reduce_extreme_s8", reads=(op.input,), writes=(op.output,), extents=op.extents, which=which
    )


def lower_cast(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A cast; between the same types nothing but a copy."""
    assert isinstance(op, Cast)
    source, target = op.input.type.dtype, op.output.type.dtype
    function = "tg_cast_f32_integers" if source.is_real else "tg_cast_integers"
    types = tuple(_ELEMENTS[dtype] for dtype in (source, target) if not dtype.is_real)
    return CastAny(
        function=f"{function}_f32" if target.is_real else function,
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=_same_size(op.output, op.input),
        types=types,
        size=op.output.type.elements,
    )


def lower_integer_arithmetic(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A function of two integers."""
    assert isinstance(op, IntegerArithmetic)
    dtype = op.output.type.dtype
    ends = {dtype.min: f"INT{dtype.bits}_MIN", dtype.max: f"INT{dtype.bits}_MAX"}
    return IntegerArithmeticAny(
        function=f"tg_integer_arithmetic_{_SUFFIXES[dtype]}",
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=constant_tables(op.first, op.second),
        in_place=_in_place(op),
        broadcast=op.broadcast.padded,
        which=f"TG_INTEGER_{op.function.name}",
        least=ends.get(int(op.limits.min), str(int(op.limits.min))),
        largest=ends.get(int(op.limits.max), str(int(op.limits.max))),
    )


def lower_cumulative_sum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Cumulative sums."""
    assert isinstance(op, CumulativeSum)
    if op.output.type.dtype is not DType.INT8:
        return CumulativeSumAny(
            function=f"tg_cumulative_sum_{_SUFFIXES[op.output.type.dtype]}",
            reads=(op.input,),
            writes=(op.output,),
            tables=constant_tables(op.input),
            in_place=(op.input,),
            outer=op.outer,
            size=op.size,
            inner=op.inner,
            is_exclusive=op.exclusive,
            is_reverse=op.reverse,
        )
    return CumulativeSumS8(
        function="tg_cumulative_sum_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        outer=op.outer,
        size=op.size,
        inner=op.inner,
        is_exclusive=op.exclusive,
        is_reverse=op.reverse,
        start=op.start,
        offset=-op.input.type.zero_point,
        left_shift=LEFT_SHIFT,
        scaling=op.scaling,
        output_offset=op.output.type.zero_point,
    )


def lower_top_k(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Indices of the largest or smallest values."""
    assert isinstance(op, TopK)
    return first_of(op, op.count, op.is_largest)


def first_of(op: TopK | ArgMax, count: int = 1, is_largest: bool = True) -> Kernel:
    """Indices of so many values of any type."""
    source, index = op.input.type.dtype, op.output.type.dtype
    return TopKAny(
        function="tg_top_k_f32" if source.is_real else "tg_top_k_integers",
        reads=(op.input,),
        writes=(op.output,),
        outer=op.outer,
        size=op.size,
        inner=op.inner,
        count=count,
        is_largest=is_largest,
        element=_ELEMENTS[index if source.is_real else source],
        index=_ELEMENTS[index],
    )


def _in_place(op: Broadcasting) -> tuple[Tensor, ...]:
    return _same_size(op.output, op.first, op.second)


def _same_size(output: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
    return tuple(t for t in full_size(output, *operands) if t.type.dtype.bytes == output.type.dtype.bytes)


LOWERINGS: Lowerings = {
    Cast: lower_cast,
    Compare: lower_compare,
    CumulativeSum: lower_cumulative_sum,
    IntegerArithmetic: lower_integer_arithmetic,
    LogicalAnd: lower_logical,
    LogicalOr: lower_logical,
    ReduceAll: lower_logical_reduction,
    ReduceAny: lower_logical_reduction,
    TopK: lower_top_k,
}
