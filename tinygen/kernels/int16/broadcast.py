"""Operators on two int16 tensors of any shapes that broadcast."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.tinygen_c.elementwise import CommonScaleS8, ExtremumS8, PreluS8, ProductS8, offsets, operands
from tinygen.ops.clamp import Clamp
from tinygen.ops.common_scale import CommonScaled
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.squared_difference import SquaredDifference

_HEADER = "tg_elementwise_s16.h"
_ELEMENT = "int16_t"


@dataclass(frozen=True, eq=False, kw_only=True)
class CommonScaleS16(CommonScaleS8):
    """tg_add_s16, tg_sub_s16 or tg_squared_difference_s16."""

    header: ClassVar[str] = _HEADER
    element: ClassVar[str] = _ELEMENT


@dataclass(frozen=True, eq=False, kw_only=True)
class ProductS16(ProductS8):
    """tg_mul_s16."""

    header: ClassVar[str] = _HEADER
    element: ClassVar[str] = _ELEMENT


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtremumS16(ExtremumS8):
    """tg_maximum_s16 or tg_minimum_s16."""

    header: ClassVar[str] = _HEADER
    element: ClassVar[str] = _ELEMENT


@dataclass(frozen=True, eq=False, kw_only=True)
class PreluS16(PreluS8):
    """tg_prelu_s16."""

    header: ClassVar[str] = _HEADER
    element: ClassVar[str] = _ELEMENT


def common_scale(op: CommonScaled, function: str, activation: Clamp) -> Kernel:
    """tg_add_s16, tg_sub_s16 or tg_squared_difference_s16."""
    return CommonScaleS16(
        function=function,
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
        **offsets(op),
        scales=op.scales,
        activation=activation,
    )


def broadcast_product(op: Mul) -> Kernel:
    """Multiplication."""
    return ProductS16(
        function="tg_mul_s16",
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
        **offsets(op),
        scaling=op.scaling,
        activation=op.clamp,
    )


def lower_squared_difference(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The squared difference kernel for `op`."""
    assert isinstance(op, SquaredDifference)
    return common_scale(op, "tg_squared_difference_s16", Clamp.none(op.output.type))


def lower_extremum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The maximum or minimum kernel for `op`."""
    assert isinstance(op, Maximum | Minimum)
    return ExtremumS16(
        function="tg_maximum_s16" if isinstance(op, Maximum) else "tg_minimum_s16",
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
    )


def lower_prelu(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The parametric ReLU kernel for `op`."""
    assert isinstance(op, Prelu)
    return PreluS16(
        function="tg_prelu_s16",
        **operands(op.output, op.input, op.alpha),
        broadcast=op.broadcast.padded,
        input_offset=0,
        alpha_offset=0,
        output_offset=0,
        identity=op.identity,
        slope=op.slope,
    )


LOWERINGS: Lowerings = {
    Maximum: lower_extremum,
    Minimum: lower_extremum,
    Prelu: lower_prelu,
    SquaredDifference: lower_squared_difference,
}
