"""Sigmoid, hyperbolic tangent and functions by tables on int16."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.interpolated import Interpolated
from tinygen.ops.requantize import Multiplier
from tinygen.ops.sigmoid_int16 import sigmoid_offsets

_FUNCTIONS = {Function.LOGISTIC: "tg_logistic_s16", Function.TANH: "tg_tanh_s16"}


@dataclass(frozen=True, eq=False, kw_only=True)
class SigmoidS16(Kernel):
    """tg_logistic_s16 or tg_tanh_s16."""

    template: ClassVar[str] = "sigmoid_s16"
    header: ClassVar[str] = "tg_int16.h"

    size: int
    scaling: Multiplier  # its shift goes to the right


@dataclass(frozen=True, eq=False, kw_only=True)
class InterpolatedS16(Kernel):
    """tg_interpolated_s16."""

    template: ClassVar[str] = "interpolated_s16"
    header: ClassVar[str] = "tg_int16.h"

    size: int


def lower_float_function(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a sigmoid or a hyperbolic tangent; others have no int16 form."""
    assert isinstance(op, FloatFunction)
    return SigmoidS16(
        function=_FUNCTIONS[op.function],
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("sigmoid", sigmoid_offsets()),),
        in_place=(op.input,),
        size=op.output.type.elements,
        scaling=op.scaling_int16,
    )


def lower_interpolated(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Any other function."""
    assert isinstance(op, Interpolated) and op.table.data is not None
    return InterpolatedS16(
        function="tg_interpolated_s16",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("table", op.table.data),),
        in_place=(op.input,),
        size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {FloatFunction: lower_float_function, Interpolated: lower_interpolated}
