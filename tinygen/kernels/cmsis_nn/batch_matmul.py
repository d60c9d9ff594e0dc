"""Batched matrix products whose right side lies transposed."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets
from tinygen.kernels.tinygen_c.matmul import lower_any_batch_matmul
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Multiplier


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchMatMulS8(Kernel):
    """arm_batch_matmul_s8: rows of the first operand times rows of the second."""

    template: ClassVar[str] = "batch_matmul_s8"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    second_offset: int
    activation: Clamp
    requantize: Multiplier
    first_dims: Dims
    second_dims: Dims
    output_dims: Dims


def lower_batch_matmul(op: Op, toolbox: Toolbox) -> Kernel:
    """The library's function where both operands lie as it wants them, tinygen's own elsewhere."""
    assert isinstance(op, BatchMatMul)
    second = _rows(op)
    if second is None or op.transpose_first or op.first.shape[:-2] != op.second.shape[:-2]:
        return lower_any_batch_matmul(op)
    batches = prod(op.first.shape[:-2])
    return BatchMatMulS8(
        function="arm_batch_matmul_s8",
        reads=(op.first, second),
        writes=(op.output,),
        tables=constant_tables(op.first, second),
        scratch_bytes=batch_matmul_s8_scratch_bytes(op, toolbox),
        offsets=Offsets(input=-op.first.type.zero_point, output=op.output.type.zero_point),
        second_offset=-op.second.type.zero_point,
        activation=Clamp.none(op.output.type),
        requantize=op.scaling,
        first_dims=Dims(batches, 1, op.rows, op.depth),
        second_dims=Dims(batches, 1, op.columns, op.depth),
        output_dims=Dims(batches, 1, op.rows, op.columns),
    )


def batch_matmul_s8_scratch_bytes(op: BatchMatMul, toolbox: Toolbox) -> int:
    """With MVE the sums of the second operand's rows, one int32 each."""
    return 4 * op.columns if toolbox.has_mve_kernels else 0


def _rows(op: BatchMatMul) -> Tensor | None:
    """The second operand with its columns as rows; None where that takes a transposition at run time."""
    if op.transpose_second or op.second.data is None:
        return op.second if op.transpose_second else None
    return Tensor(op.second.name, op.second.type, np.ascontiguousarray(op.second.data.swapaxes(-1, -2)))


LOWERINGS: Lowerings = {BatchMatMul: lower_batch_matmul}
