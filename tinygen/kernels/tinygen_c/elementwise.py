"""Operators on two tensors of any shapes that broadcast."""

from dataclasses import dataclass
from typing import ClassVar, TypedDict

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.ops.binary import Binary
from tinygen.ops.broadcast import Broadcast
from tinygen.ops.clamp import Clamp
from tinygen.ops.common_scale import CommonScale, CommonScaled
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.mul import Mul
from tinygen.ops.prelu import Prelu
from tinygen.ops.quotient import Div
from tinygen.ops.requantize import Multiplier
from tinygen.ops.squared_difference import SquaredDifference


@dataclass(frozen=True, eq=False, kw_only=True)
class _BroadcastS8(Kernel):
    """What they share."""

    header: ClassVar[str] = "tg_elementwise.h"
    element: ClassVar[str] = "int8_t"

    broadcast: Broadcast


@dataclass(frozen=True, eq=False, kw_only=True)
class CommonScaleS8(_BroadcastS8):
    """tg_add_s8, tg_sub_s8 or tg_squared_difference_s8."""

    template: ClassVar[str] = "common_scale_s8"

    first_offset: int
    second_offset: int
    output_offset: int
    scales: CommonScale
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class ProductS8(_BroadcastS8):
    """tg_mul_s8 or tg_div_s8."""

    template: ClassVar[str] = "product_s8"

    first_offset: int
    second_offset: int
    output_offset: int
    scaling: Multiplier
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtremumS8(_BroadcastS8):
    """tg_maximum_s8 or tg_minimum_s8."""

    template: ClassVar[str] = "broadcast_extremum_s8"


@dataclass(frozen=True, eq=False, kw_only=True)
class PreluS8(_BroadcastS8):
    """tg_prelu_s8."""

    template: ClassVar[str] = "prelu_s8"

    input_offset: int
    alpha_offset: int
    output_offset: int
    identity: Multiplier
    slope: Multiplier


def common_scale(op: CommonScaled, function: str, activation: Clamp) -> Kernel:
    """tg_add_s8, tg_sub_s8 or tg_squared_difference_s8."""
    return CommonScaleS8(
        function=function,
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
        **offsets(op),
        scales=op.scales,
        activation=activation,
    )


def lower_squared_difference(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The squared difference kernel for `op`."""
    assert isinstance(op, SquaredDifference)
    return common_scale(op, "tg_squared_difference_s8", Clamp.none(op.output.type))


def broadcast_product(op: Mul) -> Kernel:
    """Multiplication."""
    return _product(op, "tg_mul_s8")


def lower_div(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The division kernel for `op`."""
    assert isinstance(op, Div)
    return _product(op, "tg_div_s8")


def _product(op: Mul | Div, function: str) -> Kernel:
    return ProductS8(
        function=function,
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
        **offsets(op),
        scaling=op.scaling,
        activation=op.clamp,
    )


def broadcast_extremum(op: Maximum | Minimum) -> Kernel:
    """Maximum or minimum."""
    return ExtremumS8(
        function="tg_maximum_s8" if isinstance(op, Maximum) else "tg_minimum_s8",
        **operands(op.output, op.first, op.second),
        broadcast=op.broadcast.padded,
    )


def lower_prelu(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The parametric ReLU kernel for `op`."""
    assert isinstance(op, Prelu)
    return PreluS8(
        function="tg_prelu_s8",
        **operands(op.output, op.input, op.alpha),
        broadcast=op.broadcast.padded,
        input_offset=-op.input.type.zero_point,
        alpha_offset=-op.alpha.type.zero_point,
        output_offset=op.output.type.zero_point,
        identity=op.identity,
        slope=op.slope,
    )


class Operands(TypedDict):
    """What kernels of two operands have in common."""

    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    tables: tuple[Table, ...]
    in_place: tuple[Tensor, ...]


def operands(output: Tensor, first: Tensor, second: Tensor) -> Operands:
    """Two operands, each a tensor in RAM or a constant; the output may take the place of those of its size."""
    return Operands(
        reads=(first, second),
        writes=(output,),
        tables=constant_tables(first, second),
        in_place=full_size(output, first, second),
    )


def full_size(output: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
    """Operands that are read once, element by element, and are not constants."""
    return tuple(t for t in operands if t.type.elements == output.type.elements and not t.is_constant)


class OperandOffsets(TypedDict):
    """What is added to stored values."""

    first_offset: int
    second_offset: int
    output_offset: int


def offsets(op: Binary) -> OperandOffsets:
    """Minus the operands' zero points, plus the output's."""
    first, second, output = (tensor.type.zero_point for tensor in (op.first, op.second, op.output))
    return OperandOffsets(first_offset=-first, second_offset=-second, output_offset=output)


LOWERINGS: Lowerings = {Div: lower_div, Prelu: lower_prelu, SquaredDifference: lower_squared_difference}
