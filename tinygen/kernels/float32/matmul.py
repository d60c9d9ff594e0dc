"""Matrix products on float32."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.tinygen_c.matmul import Strides, operand_strides
from tinygen.ops.batch_matmul import BatchMatMul


@dataclass(frozen=True, eq=False, kw_only=True)
class MatMulF32(Kernel):
    """tg_matmul_f32."""

    template: ClassVar[str] = "matmul_f32"
    header: ClassVar[str] = "tg_float.h"

    outer_batches: int
    inner_batches: int
    rows: int
    depth: int
    columns: int
    first: Strides
    second: Strides


def lower_batch_matmul(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Products of any layout."""
    assert isinstance(op, BatchMatMul)
    outer, inner, first, second = operand_strides(op)
    return MatMulF32(
        function="tg_matmul_f32",
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=constant_tables(op.first, op.second),
        outer_batches=outer.count,
        inner_batches=inner.count,
        rows=op.rows,
        depth=op.depth,
        columns=op.columns,
        first=first,
        second=second,
    )


LOWERINGS: Lowerings = {BatchMatMul: lower_batch_matmul}
