"""Matrix products with any layout of the operands."""

from dataclasses import dataclass, replace
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.integer_batch_matmul import IntegerBatchMatMul
from tinygen.ops.matrix_products import Batches, MatrixProducts
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True)
class Strides:
    """struct tg_matmul_strides: elements from one to the next along each axis, and what is added to each."""

    outer_batch: int
    inner_batch: int
    vector: int
    depth: int
    offset: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyBatchMatMulS8(Kernel):
    """tg_batch_matmul_s8."""

    template: ClassVar[str] = "any_batch_matmul_s8"
    header: ClassVar[str] = "tg_matmul.h"
    element: ClassVar[str] = "int8_t"

    outer_batches: int
    inner_batches: int
    rows: int
    depth: int
    columns: int
    scaling: Multiplier
    output_zero_point: int
    first: Strides
    second: Strides


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchMatMulS16(AnyBatchMatMulS8):
    """tg_batch_matmul_s16."""

    element: ClassVar[str] = "int16_t"


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerBatchMatMulS8(Kernel):
    """tg_integer_batch_matmul_s8."""

    template: ClassVar[str] = "integer_batch_matmul_s8"
    header: ClassVar[str] = "tg_integer.h"

    first: Strides
    second: Strides
    outer_batches: int
    inner_batches: int
    rows: int
    depth: int
    columns: int
    first_zero_point_step: int
    second_zero_point_step: int


def lower_integer_batch_matmul(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Matrix by matrix."""
    assert isinstance(op, IntegerBatchMatMul)
    outer, inner, first, second = operand_strides(op)
    operands = (op.first, op.second, op.first_zero_point, op.second_zero_point)
    return IntegerBatchMatMulS8(
        function="tg_integer_batch_matmul_s8",
        reads=operands,
        writes=(op.output,),
        tables=constant_tables(*operands),
        first=first,
        second=second,
        outer_batches=outer.count,
        inner_batches=inner.count,
        rows=op.rows,
        depth=op.depth,
        columns=op.columns,
        first_zero_point_step=int(op.first_zero_point.type.elements > 1),
        second_zero_point_step=int(op.second_zero_point.type.elements > 1),
    )


def lower_any_batch_matmul(op: BatchMatMul) -> Kernel:
    """tinygen's own function, for transposed and broadcast operands."""
    outer, inner, first, second = operand_strides(op)
    is_wide = op.output.type.dtype is DType.INT16
    kind, function = (BatchMatMulS16, "tg_batch_matmul_s16") if is_wide else (AnyBatchMatMulS8, "tg_batch_matmul_s8")
    return kind(
        function=function,
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=constant_tables(op.first, op.second),
        outer_batches=outer.count,
        inner_batches=inner.count,
        rows=op.rows,
        depth=op.depth,
        columns=op.columns,
        scaling=op.scaling,
        output_zero_point=op.output.type.zero_point,
        first=replace(first, offset=-op.first.type.zero_point),
        second=replace(second, offset=-op.second.type.zero_point),
    )


def operand_strides(op: MatrixProducts) -> tuple[Batches, Batches, Strides, Strides]:
    """The batches as two groups, and how the matrices of both operands lie."""
    outer, inner = _outer_and_inner(op)
    first = (1, op.rows) if op.transpose_first else (op.depth, 1)
    second = (op.depth, 1) if op.transpose_second else (1, op.columns)
    first_batches = _batch_strides(op.rows * op.depth, inner.count, outer.first_advances, inner.first_advances)
    second_batches = _batch_strides(op.columns * op.depth, inner.count, outer.second_advances, inner.second_advances)
    return outer, inner, Strides(*first_batches, *first), Strides(*second_batches, *second)


def _outer_and_inner(op: MatrixProducts) -> tuple[Batches, Batches]:
    """The batch axes as exactly two groups."""
    none = Batches(1, False, False)
    outer, inner = (none, none, *op.batches)[-2:]
    return outer, inner


def _batch_strides(size: int, inner_count: int, outer_advances: bool, inner_advances: bool) -> tuple[int, int]:
    """Elements from one outer and from one inner batch to the next, for matrices of `size` elements."""
    inner_stride = size if inner_advances else 0
    per_outer = size * (inner_count if inner_advances else 1)
    return per_outer if outer_advances else 0, inner_stride


def lower_batch_matmul_s16(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """tinygen's own function for any int16 operands."""
    assert isinstance(op, BatchMatMul)
    return lower_any_batch_matmul(op)


INT16_LOWERINGS: Lowerings = {BatchMatMul: lower_batch_matmul_s16}
LOWERINGS: Lowerings = {IntegerBatchMatMul: lower_integer_batch_matmul}
