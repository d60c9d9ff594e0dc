"""tinygen's own kernels that take no scratch, for operators whose kernels in CMSIS-NN do."""

from dataclasses import replace

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.int16 import convolution
from tinygen.kernels.tinygen_c.matmul import lower_any_batch_matmul
from tinygen.kernels.tinygen_c.packed import packed_layers
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.conv2d import Conv2D


def without_scratch(op: Op, toolbox: Toolbox) -> Kernel | None:
    """The kernel for `op`, slower than the library's; None for operators that have none."""
    dtypes = {tensor.type.dtype for tensor in op.variable_operands}
    if dtypes == {DType.INT16} and type(op) in convolution.LOWERINGS:
        found = convolution.LOWERINGS[type(op)](op, replace(toolbox, library=Library.PORTABLE))
        return found[-1] if isinstance(found, tuple) else found
    if dtypes != {DType.INT8}:
        return None
    if isinstance(op, Conv2D) and op.weights.type.dtype is DType.INT8 and op.weights.coding is None:
        return packed_layers(op)[-1]
    return lower_any_batch_matmul(op) if isinstance(op, BatchMatMul) else None
