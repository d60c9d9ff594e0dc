"""Elementwise addition."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.tinygen_c.elementwise import common_scale, offsets, operands
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.common_scale import CommonScale


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementwiseAddS8(Kernel):
    """arm_elementwise_add_s8: tensors of the same shape."""

    template: ClassVar[str] = "elementwise_add_s8"
    element: ClassVar[str] = "int8_t"

    first_offset: int
    second_offset: int
    output_offset: int
    scales: CommonScale
    left_shift: int
    activation: Clamp
    block_size: int


def lower_add(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The addition kernel for `op`; CMSIS-NN has none that broadcasts or subtracts."""
    assert isinstance(op, Add)
    if op.sign < 0 or not op.broadcast.is_flat:
        return common_scale(op, "tg_add_s8" if op.sign > 0 else "tg_sub_s8", op.clamp)
    return ElementwiseAddS8(
        function="arm_elementwise_add_s8",
        **operands(op.output, op.first, op.second),
        **offsets(op),
        scales=op.scales,
        left_shift=op.left_shift,
        activation=op.clamp,
        block_size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {Add: lower_add}
