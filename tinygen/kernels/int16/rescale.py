"""From one quantization to another, where int16 or int32 is on either side; rectifiers on int16."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.ops.arithmetic_unary import Abs
from tinygen.ops.clamp import Clamp
from tinygen.ops.relu import LeakyRelu, Relu
from tinygen.ops.requantize import Multiplier
from tinygen.ops.rescale import Rescale
from tinygen.ops.roots import Rsqrt

_FUNCTIONS = {
    (DType.INT16, DType.INT16): "tg_rescale_s16",
    (DType.INT8, DType.INT16): "tg_rescale_s8_s16",
    (DType.INT16, DType.INT8): "tg_rescale_s16_s8",
    (DType.INT8, DType.INT32): "tg_rescale_s8_s32",
    (DType.INT16, DType.INT32): "tg_rescale_s16_s32",
    (DType.INT32, DType.INT8): "tg_rescale_s32_s8",
    (DType.INT32, DType.INT16): "tg_rescale_s32_s16",
}
_UNARY: Mapping[type[Op], str] = {Abs: "tg_abs_s16", Rsqrt: "tg_rsqrt_s16"}


@dataclass(frozen=True, eq=False, kw_only=True)
class RescaleS16(Kernel):
    """tg_rescale_s16, or from one element type to another; tg_abs_s16, tg_rsqrt_s16."""

    template: ClassVar[str] = "rescale_s16"
    header: ClassVar[str] = "tg_int16.h"

    size: int
    offsets: Offsets
    scaling: Multiplier
    activation: Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakyReluS16(Kernel):
    """tg_leaky_relu_s16."""

    template: ClassVar[str] = "leaky_relu_s16"
    header: ClassVar[str] = "tg_elementwise_s16.h"

    identity: Multiplier
    slope: Multiplier
    size: int


def lower_leaky_relu(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a LeakyRelu."""
    assert isinstance(op, LeakyRelu)
    return LeakyReluS16(
        function="tg_leaky_relu_s16",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,),
        identity=op.identity,
        slope=op.slope,
        size=op.output.type.elements,
    )


def lower_rescale(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a Rescale, a Relu, and what is done to each element before it is rescaled."""
    assert isinstance(op, Abs | Relu | Rescale | Rsqrt)
    before, after = op.input.type, op.output.type
    return RescaleS16(
        function=_UNARY.get(type(op)) or _FUNCTIONS[before.dtype, after.dtype],
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        in_place=(op.input,) if before.dtype is after.dtype else (),
        size=after.elements,
        offsets=Offsets(input=-before.zero_point, output=after.zero_point),
        scaling=op.scaling,
        activation=op.clamp if isinstance(op, Relu) else Clamp.none(after),
    )


LOWERINGS: Lowerings = {
    Abs: lower_rescale,
    LeakyRelu: lower_leaky_relu,
    Relu: lower_rescale,
    Rescale: lower_rescale,
    Rsqrt: lower_rescale,
}
