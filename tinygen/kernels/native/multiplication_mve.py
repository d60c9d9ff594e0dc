"""Elementwise multiplication on cores with MVE: the double rounding in short, proven on all pairs of stored values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.tinygen_c.elementwise import full_size
from tinygen.ops.clamp import Clamp
from tinygen.ops.mul import Mul
from tinygen.ops.requantize import Int64Array, doubling_high_multiply

_STORED = np.arange(-128, 128, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveMultiplyS8(NativeKernel):
    """tg_native_mve_multiply_s8."""

    template: ClassVar[str] = "native_mve_multiply_s8"
    header: ClassVar[str] = "tg_native_mve.h"

    size: int
    first_offset: int
    second_offset: int
    multiplier: int
    shift: int  # negative: to the right
    down: bool  # halves of negative products go down; else up
    output_zero_point: int
    activation: Clamp


def lower_mul(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The kernel for `op`, none for broadcasts, constants, and factors of 1 or more."""
    assert isinstance(op, Mul)
    scaling = op.scaling
    if not op.broadcast.is_flat or op.first.data is not None or op.second.data is not None or scaling.shift > 0:
        return ()
    kernel = NativeMveMultiplyS8(
        function="tg_native_mve_multiply_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        in_place=full_size(op.output, op.first, op.second),
        size=op.output.type.elements,
        first_offset=-op.first.type.zero_point,
        second_offset=-op.second.type.zero_point,
        multiplier=scaling.multiplier,
        shift=scaling.shift,
        down=scaling.shift < 0,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )
    return (kernel,) if _is_exact(kernel, op) else ()


def _is_exact(kernel: NativeMveMultiplyS8, op: Mul) -> bool:
    """Whether the kernel gives the operator's own result for all 65,536 pairs of stored values."""
    first, second = np.meshgrid(_STORED + kernel.first_offset, _STORED + kernel.second_offset)
    return np.array_equal(computed(kernel, first * second), op.combine(first, second))


def computed(kernel: NativeMveMultiplyS8, products: Int64Array) -> Int64Array:
    """What the kernel computes of products of centered values."""
    scaled = doubling_high_multiply(products, kernel.multiplier)
    lowered = scaled - (scaled < 0) if kernel.down else scaled
    half = 1 << -kernel.shift >> 1
    return kernel.activation.apply(((lowered + half) >> -kernel.shift) + kernel.output_zero_point)


LOWERINGS: Lowerings = {Mul: lower_mul}
