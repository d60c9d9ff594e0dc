"""Functions of int16 that have no arithmetic of their own: interpolated tables, as LiteRT's kernels have them."""

from collections.abc import Callable
from dataclasses import replace
from functools import update_wrapper

import numpy as np

from tinygen.frontends.tflite.node import Node, UnsupportedError
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.interpolated import ENTRIES, Interpolated, TabledFunction
from tinygen.ops.real_function import Reals
from tinygen.ops.unary import Unary

_IN_LITERT = ("EXP", "GELU", "LOG")  # whose tables are LiteRT's, however far off they are
_MOST_STEPS = 128  # that other tables may be off: half a step of 8 bits


def with_table(reader: Callable[[Node], Unary]) -> Callable[[Node], Op]:
    """A reader that takes int16 too: what it reads of other types says what is computed."""

    def read(node: Node) -> Op:
        op = reader(node)
        wide = DType.INT16
        return _tabled(node, op) if (op.input.type.dtype, op.output.type.dtype) == (wide, wide) else op

    return update_wrapper(read, reader, assigned=())


def _tabled(node: Node, op: Unary) -> Interpolated:
    """UnsupportedError where the table is too far off."""
    function = TabledFunction(_on_reals(op), op.input.type.scale, op.output.type.scale)
    steps = function.error / op.output.type.scale
    if node.raw.name not in _IN_LITERT and steps > _MOST_STEPS:
        raise UnsupportedError(
            f"a table of {ENTRIES} entries is {steps:.0f} steps of 16 bits off, {_MOST_STEPS} at most were expected"
        )
    table = Tensor(f"{op.name}:table", TensorType(DType.INT16, (ENTRIES,)), function.table)
    return Interpolated(
        name=op.name, source=op.source, input=op.input, table=table, output=op.output, error=function.error
    )


def _on_reals(op: Unary) -> Callable[[Reals], Reals]:
    """The function in float32; what is no number, as of a logarithm, is the smallest result."""
    least = op.output.type.scale * op.output.type.min
    x, y = (Tensor(name, TensorType(DType.FLOAT32, ())) for name in ("x", "y"))
    real_op = replace(op, input=x, output=y)

    def apply(real: Reals) -> Reals:
        with np.errstate(all="ignore"):
            found = real_op.compute(real.astype(np.float32)).astype(np.float64)
        return np.nan_to_num(found, nan=least, posinf=-least, neginf=least)

    return apply
