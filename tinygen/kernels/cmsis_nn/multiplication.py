"""Elementwise multiplication."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.tinygen_c.elementwise import broadcast_product, offsets, operands
from tinygen.ops.clamp import Clamp
from tinygen.ops.mul import Mul
from tinygen.ops.requantize import Multiplier

MULTIPLICATION = "arm_elementwise_mul_s8"


@dataclass(frozen=True, eq=False, kw_only=True)
class ElementwiseMulS8(Kernel):
    """arm_elementwise_mul_s8: tensors of the same shape."""

    template: ClassVar[str] = "elementwise_mul_s8"
    element: ClassVar[str] = "int8_t"

    first_offset: int
    second_offset: int
    output_offset: int
    scaling: Multiplier
    activation: Clamp
    block_size: int


def lower_mul(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The multiplication kernel for `op`; CMSIS-NN has none that broadcasts."""
    assert isinstance(op, Mul)
    if not op.broadcast.is_flat:
        return broadcast_product(op)
    return ElementwiseMulS8(
        function=MULTIPLICATION,
        **operands(op.output, op.first, op.second),
        **offsets(op),
        scaling=op.scaling,
        activation=op.clamp,
        block_size=op.output.type.elements,
    )


LOWERINGS: Lowerings = {Mul: lower_mul}
