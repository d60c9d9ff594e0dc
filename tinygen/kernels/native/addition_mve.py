"""Elementwise addition on cores with MVE: one factor for each operand, proven on all pairs of stored values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.native.native import NativeKernel
from tinygen.kernels.tinygen_c.elementwise import full_size
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array

_INT32_END = 1 << 31
_MOST_APART = 255  # a stored value and its zero point
_LARGEST_SHIFT = 30
_STORED = np.arange(-128, 128, dtype=np.int64)
_NEAREST = 4  # factors on either side of the rounded ones that are tried
_STEPS = sorted(
    ((a, b) for a in range(-_NEAREST, _NEAREST + 1) for b in range(-_NEAREST, _NEAREST + 1)),
    key=lambda step: abs(step[0]) + abs(step[1]),
)


@dataclass(frozen=True)
class Factors:
    """round((x * first + y * second + constant) / 2**shift) of centered values, halves of negative sums down or up."""

    first: int
    second: int
    constant: int
    shift: int
    down: bool

    def sums(self, first: Int64Array, second: Int64Array) -> Int64Array:
        """Before the shift."""
        return first * self.first + second * self.second + self.constant

    def rounded(self, sums: Int64Array) -> Int64Array:
        """What the kernel computes of sums."""
        lowered = sums - (sums < 0) if self.down else sums
        return (lowered + (1 << (self.shift - 1))) >> self.shift


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveAddS8(NativeKernel):
    """tg_native_mve_add_s8."""

    template: ClassVar[str] = "native_mve_add_s8"
    header: ClassVar[str] = "tg_native_mve.h"

    size: int
    factors: Factors
    constant: int  # of stored values
    output_zero_point: int
    activation: Clamp

    @property
    def shift(self) -> int:
        """Of vectors: negative to the right."""
        return -self.factors.shift


def lower_add(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The kernel for `op`, none for broadcasts, constants, and where no factors are exact."""
    assert isinstance(op, Add)
    if not op.broadcast.is_flat or op.first.data is not None or op.second.data is not None:
        return ()
    factors = exact_factors(op)
    if factors is None:
        return ()
    zero = factors.sums(np.array(-op.first.type.zero_point), np.array(-op.second.type.zero_point))
    kernel = NativeMveAddS8(
        function="tg_native_mve_add_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        in_place=full_size(op.output, op.first, op.second),
        size=op.output.type.elements,
        factors=factors,
        constant=int(zero),
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )
    return (kernel,)


def exact_factors(op: Add) -> Factors | None:
    """Factors that give the operator's own result for all 65,536 pairs of stored values, if some are found."""
    first, second = np.meshgrid(_STORED - op.first.type.zero_point, _STORED - op.second.type.zero_point)
    right = op.combine(first, second)
    for candidate in _candidates(op):
        factors = _with_constant(candidate, first, second, op, right)
        sums = factors.sums(first, second)
        found = op.clamp.apply(factors.rounded(sums) + op.output.type.zero_point)
        if np.abs(sums).max() < _INT32_END and np.array_equal(found, right):
            return factors
    return None


def _candidates(op: Add) -> Iterator[Factors]:
    """Factors near the ratios of scales, with as many fraction bits as sums have room for."""
    ratios = [op.first.type.scale / op.output.type.scale, op.sign * op.second.type.scale / op.output.type.scale]
    room = (_INT32_END - 1) / (_MOST_APART * sum(abs(ratio) for ratio in ratios))
    shift = min(int(np.floor(np.log2(room))), _LARGEST_SHIFT)
    if shift < 1:
        return
    first, second = (round(ratio * 2**shift) for ratio in ratios)
    is_relu = op.clamp.min >= op.output.type.zero_point
    for step in _STEPS:
        yield Factors(first + step[0], second + step[1], 0, shift, not is_relu)


def _with_constant(factors: Factors, first: Int64Array, second: Int64Array, op: Add, right: Int64Array) -> Factors:
    """The same with the constant next to zero that the results inside the clamp ask for."""
    sums = factors.sums(first, second)
    lowest = ((right - op.output.type.zero_point) << factors.shift) - (1 << (factors.shift - 1))
    room = sums - (sums < 0) - lowest if factors.down else sums - lowest
    least = -room[right > op.clamp.min].min(initial=0)
    most = (1 << factors.shift) - 1 - room[right < op.clamp.max].max(initial=0)
    return Factors(factors.first, factors.second, int(min(max(least, 0), most)), factors.shift, factors.down)


LOWERINGS: Lowerings = {Add: lower_add}
