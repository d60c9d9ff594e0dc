"""Elementwise addition by a factor for each operand, or by two tables with what each contributes to the sum.

With x and y for stored values, an output is

    saturate((x * first + y * second + constant) >> 21)

where that is the operator's own result for all 65,536 pairs of x and y. For given factors an output of q asks for

    q * 2**21 <= x * first + y * second + constant < (q + 1) * 2**21

which are bounds of the constant; one below is not asked for where q is the least that the clamp leaves, nor one above
where q is the largest.
"""

from dataclasses import dataclass
from functools import lru_cache
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
_SHIFT = 21  # fixed in the C: sums of 1,024 steps of the output fit, and steps are fine enough for most pairs
_STORED = np.arange(-128, 128, dtype=np.int64)
_NEAREST = 3  # factors on either side of the rounded ones that are tried
_STEPS = sorted(
    ((a, b) for a in range(-_NEAREST, _NEAREST + 1) for b in range(-_NEAREST, _NEAREST + 1)),
    key=lambda step: abs(step[0]) + abs(step[1]),
)
_MOST_KNOWN = 1 << 8  # additions: tiles of one have the same factors


@dataclass(frozen=True)
class LinearFactors:
    """Of two stored values, and what is added to their products."""

    first: int
    second: int
    constant: int

    @property
    def largest(self) -> int:
        """Which no sum exceeds, nor its negative, whatever is added first."""
        return 128 * (abs(self.first) + abs(self.second)) + abs(self.constant)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeAddLinearS8(NativeKernel):
    """tg_native_add_linear_s8."""

    template: ClassVar[str] = "native_add_linear_s8"
    header: ClassVar[str] = "tg_native.h"

    size: int
    factors: LinearFactors
    activation: Clamp


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
    factors = factors_of(op)
    if factors is None:
        return by_tables(op)
    kernel = NativeAddLinearS8(
        function="tg_native_add_linear_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        in_place=full_size(op.output, op.first, op.second),
        size=op.output.type.elements,
        factors=factors,
        activation=op.clamp,
    )
    return (kernel,)


def by_tables(op: Add) -> tuple[Kernel, ...]:
    """The kernel for any scales but unusual ones."""
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
    centered = _STORED - operand.type.zero_point
    return requantize(centered << LEFT_SHIFT, scaling.multiplier, scaling.shift)


@dataclass(frozen=True)
class _Question:
    """An addition told by what its factors depend on, so that all its tiles ask the same."""

    op: Add

    @property
    def _key(self) -> object:
        operands = ((t.type.scale, t.type.zero_point) for t in (self.op.first, self.op.second, self.op.output))
        return self.op.sign, self.op.clamp, *operands

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Question) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def factors_of(op: Add) -> LinearFactors | None:
    """What gives the results of `op` for all pairs of stored values; None where no factors near its scales do."""
    return _answer(_Question(op))


@lru_cache(_MOST_KNOWN)
def _answer(question: _Question) -> LinearFactors | None:
    op = question.op
    right = op.combine(*np.meshgrid(_STORED - op.first.type.zero_point, _STORED - op.second.type.zero_point))
    first, second = (_factor(scale, op) for scale in (op.first.type.scale, op.sign * op.second.type.scale))
    for step in _STEPS:
        found = _with_constant(first + step[0], second + step[1], right, op.clamp)
        if found is not None and found.largest < _INT32_END:
            return found
    return None


def _factor(scale: float, op: Add) -> int:
    return round(scale / op.output.type.scale * (1 << _SHIFT))


def _with_constant(first: int, second: int, right: Int64Array, clamp: Clamp) -> LinearFactors | None:
    """The factors with the constant in the middle of its bounds; `right`: results by second and first stored value."""
    products = _STORED * first + (_STORED * second)[:, np.newaxis]
    least = ((right << _SHIFT) - products)[right > clamp.min].max(initial=-_INT32_END)
    end = (((right + 1) << _SHIFT) - products)[right < clamp.max].min(initial=_INT32_END)
    return LinearFactors(first, second, int((least + end) >> 1)) if least < end else None


LOWERINGS: Lowerings = {Add: lower_add}
