"""Matrix products with any layout of the operands."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True)
class Strides:
    """struct tg_matmul_strides: elements from one to the next along each axis, and what is added to each."""

    outer_batch: int
    inner_batch: int
    vector: int
    depth: int
    offset: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyBatchMatMulS8(Kernel):
    """tg_batch_matmul_s8."""

    template: ClassVar[str] = "tg_batch_matmul_s8"
    header: ClassVar[str] = "tg_matmul.h"

    outer_batches: int
    inner_batches: int
    rows: int
    depth: int
    columns: int
    scaling: Multiplier
    output_zero_point: int
    first: Strides
    second: Strides


def lower_any_batch_matmul(op: BatchMatMul) -> Kernel:
    """tinygen's own function, for transposed and broadcast operands."""
    outer, inner, (first_outer, first_inner), (second_outer, second_inner) = _merged_batches(op)
    first_size, second_size = op.rows * op.depth, op.columns * op.depth
    first = (1, op.rows) if op.transpose_first else (op.depth, 1)
    second = (op.depth, 1) if op.transpose_second else (1, op.columns)
    return AnyBatchMatMulS8(
        function="tg_batch_matmul_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=tuple(Table(n, t.data) for n, t in _operands(op) if t.data is not None),
        outer_batches=outer,
        inner_batches=inner,
        rows=op.rows,
        depth=op.depth,
        columns=op.columns,
        scaling=op.scaling,
        output_zero_point=op.output.type.zero_point,
        first=Strides(first_outer * first_size, first_inner * first_size, *first, -op.first.type.zero_point),
        second=Strides(second_outer * second_size, second_inner * second_size, *second, -op.second.type.zero_point),
    )


def _operands(op: BatchMatMul) -> tuple[tuple[str, Tensor], ...]:
    return ("first", op.first), ("second", op.second)


def _merged_batches(op: BatchMatMul) -> tuple[int, int, tuple[int, int], tuple[int, int]]:
    """Outer and inner number of batches, and the strides of both operands along them, in matrices."""
    raise NotImplementedError
