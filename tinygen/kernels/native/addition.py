"""Elementwise addition by two tables, each with what one operand contributes to the sum."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.tinygen_c.elementwise import full_size
from tinygen.ops.add import LEFT_SHIFT, Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array, Multiplier, doubling_high_multiply, requantize

_INT32_END = 1 << 31
_SMALLEST_SIZE = 512  # below, the tables cost more than they save


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeAddS8(NativeKernel):
    """tg_native_add_s8."""

    template: ClassVar[str] = "native_add_s8"
    header: ClassVar[str] = "tg_native.h"

    size: int
    multiplier: int
    offset: int
    shift: int
    activation: Clamp


def lower_add(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The native kernel for `op`; none for broadcasts, constants, small or unusual ones."""
    assert isinstance(op, Add)
    is_plain = op.broadcast.is_flat and op.first.data is None and op.second.data is None
    if not is_plain or op.output.type.elements < _SMALLEST_SIZE:
        return ()
    first = contributions(op.first, op.scales.first)
    second = op.sign * contributions(op.second, op.scales.second)
    scaling, zero_point = op.scales.output, op.output.type.zero_point
    right = -scaling.shift
    largest = max(int(first.max() + second.max()), -int(first.min() + second.min()))
    if right < 1 or 2 * largest >= _INT32_END:
        return ()
    offset = (zero_point << right) + (1 << (right - 1))
    product = int(doubling_high_multiply(np.array(largest, np.int64), scaling.multiplier))
    if abs(offset) + product + 1 >= _INT32_END:
        return ()
    kernel = NativeAddS8(
        function="tg_native_add_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        tables=(Table("first", (2 * first).astype(np.int32)), Table("second", (2 * second).astype(np.int32))),
        in_place=full_size(op.output, op.first, op.second),
        size=op.output.type.elements,
        multiplier=scaling.multiplier,
        offset=offset,
        shift=right,
        activation=op.clamp,
    )
    return (kernel,)


def contributions(operand: Tensor, scaling: Multiplier) -> Int64Array:
    """The rescaled value of each stored value from -128 to 127."""
    centered = np.arange(-128, 128, dtype=np.int64) - operand.type.zero_point
    return requantize(centered << LEFT_SHIFT, scaling.multiplier, scaling.shift)


LOWERINGS: Lowerings = {Add: lower_add}
