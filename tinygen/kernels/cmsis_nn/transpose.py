"""Transposes for which CMSIS-NN has more than a loop over all indices."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.rows import Rows
from tinygen.kernels.base import Kernel, Library, Lowerings, Toolbox, constant_tables
from tinygen.kernels.cmsis_nn.shapes import Dims
from tinygen.kernels.tinygen_c import strided_copy
from tinygen.kernels.tinygen_c.transpose_in_place import transpose_in_place
from tinygen.ops.transpose import Transpose

_LARGEST_ROW = (1 << 16) // 8  # 16-bit offsets of 8 rows at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeS8(Kernel):
    """arm_transpose_s8 of the two innermost axes."""

    template: ClassVar[str] = "transpose_s8"

    num_dims: int
    permutations: tuple[int, ...]
    input_dims: Dims
    output_dims: Dims


@dataclass(frozen=True)
class _Matrices:
    """A transpose seen as that of `count` matrices."""

    count: int
    rows: int
    columns: int


def lower_transpose(op: Op, toolbox: Toolbox) -> Kernel:
    """The transposing kernel for `op`: CMSIS-NN's where it transposes matrices, one only unless with MVE.

    Where memory counts and `op` cannot run row by row, the one that takes over its operand's memory.
    """
    assert isinstance(op, Transpose)
    if toolbox.works_in_place and not op.input.is_constant and op.tile(Rows(0, 1)) is None:
        return transpose_in_place(op)
    matrices = _matrices(op)
    if toolbox.library is not Library.CMSIS_NN or op.input.type.dtype.bytes != 1 or matrices is None:
        return strided_copy.lower_transpose(op, toolbox)
    if max(matrices.rows, matrices.columns) > _LARGEST_ROW or (matrices.count > 1 and not toolbox.has_mve_kernels):
        return strided_copy.lower_transpose(op, toolbox)
    return _matrix_kernel(op, matrices) if matrices.count == 1 else _batch_kernel(op, matrices)


def _matrices(op: Transpose) -> _Matrices | None:
    """The transpose as one of matrices, where axes [a..., b..., c...] become [a..., c..., b...]."""
    moved = [axis for axis in op.permutation if op.input.shape[axis] != 1]
    axes = sorted(moved)
    kept = next((at for at, axis in enumerate(moved) if axis != axes[at]), len(moved))
    tail = axes[kept:]
    cut = tail.index(moved[kept]) if tail else 0
    if not tail or moved[kept:] != tail[cut:] + tail[:cut]:
        return None
    sizes = [op.input.shape[axis] for axis in axes]
    return _Matrices(prod(sizes[:kept]), prod(sizes[kept : kept + cut]), prod(sizes[kept + cut :]))


def _matrix_kernel(op: Transpose, matrices: _Matrices) -> Kernel:
    rows, columns = matrices.rows, matrices.columns
    return _kernel(op, 2, (1, 0, 0, 0), Dims(rows, columns, 1, 1), Dims(columns, rows, 1, 1))


def _batch_kernel(op: Transpose, matrices: _Matrices) -> Kernel:
    count, rows, columns = matrices.count, matrices.rows, matrices.columns
    return _kernel(op, 4, (0, 1, 3, 2), Dims(1, count, rows, columns), Dims(1, count, columns, rows))


def _kernel(
    op: Transpose, num_dims: int, permutations: tuple[int, ...], input_dims: Dims, output_dims: Dims
) -> TransposeS8:
    return TransposeS8(
        function="arm_transpose_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        num_dims=num_dims,
        permutations=permutations,
        input_dims=input_dims,
        output_dims=output_dims,
    )


LOWERINGS: Lowerings = {Transpose: lower_transpose}
