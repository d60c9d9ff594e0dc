"""Addition and multiplication of int16 tensors."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.addition import ElementwiseAddS8
from tinygen.kernels.cmsis_nn.multiplication import ElementwiseMulS8
from tinygen.kernels.int16.broadcast import broadcast_product, common_scale
from tinygen.kernels.tinygen_c.elementwise import offsets, operands
from tinygen.ops.add import Add
from tinygen.ops.mul import Mul


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementwiseAddS16(ElementwiseAddS8):
    """arm_elementwise_add_s16."""

    element: ClassVar[str] = "int16_t"


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementwiseMulS16(ElementwiseMulS8):
    """arm_elementwise_mul_s16."""

    element: ClassVar[str] = "int16_t"


def lower_add(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The addition kernel for `op`; CMSIS-NN has none that broadcasts or subtracts."""
    assert isinstance(op, Add)
    if op.sign < 0 or not op.broadcast.is_flat:
        return common_scale(op, "tg_add_s16" if op.sign > 0 else "tg_sub_s16", op.clamp)
    return ElementwiseAddS16(
        function="arm_elementwise_add_s16",
        **operands(op.output, op.first, op.second),
        **offsets(op),
        scales=op.scales,
        left_shift=op.left_shift,
        activation=op.clamp,
        block_size=op.output.type.elements,
    )


def lower_mul(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The multiplication kernel for `op`; CMSIS-NN has none that broadcasts."""
    assert isinstance(op, Mul)
    if not op.broadcast.is_flat:
        return broadcast_product(op)
    return ElementwiseMulS16(
        function="arm_elementwise_mul_s16",
        **operands(op.output, op.first, op.second),
        **offsets(op),
        scaling=op.scaling,
        activation=op.clamp,
        block_size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {Add: lower_add, Mul: lower_mul}
