"""Elementwise addition of tensors of the same shape."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.ops.add import LEFT_SHIFT, Add, CommonScale
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementwiseAddS8(Kernel):
    """arm_elementwise_add_s8."""

    template: ClassVar[str] = "elementwise_add_s8"

    first_offset: int
    second_offset: int
    output_offset: int
    scales: CommonScale
    left_shift: int
    activation: Clamp
    block_size: int


def lower_add(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The addition kernel for `op`."""
    assert isinstance(op, Add)
    return ElementwiseAddS8(
        function="arm_elementwise_add_s8",
        reads=(op.first, op.second),
        writes=(op.output,),
        in_place=(op.first, op.second),
        first_offset=-op.first.type.zero_point,
        second_offset=-op.second.type.zero_point,
        output_offset=op.output.type.zero_point,
        scales=op.scales,
        left_shift=LEFT_SHIFT,
        activation=op.clamp,
        block_size=op.output.type.elements,
    )
