"""Elementwise maximum and minimum."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.shapes import Dims
from tinygen.kernels.tinygen_c.elementwise import broadcast_extremum, operands
from tinygen.ops.extrema import Maximum, Minimum


@dataclass(frozen=True, eq=False, kw_only=True)
class CmsisExtremumS8(Kernel):
    """arm_maximum_s8 or arm_minimum_s8 of tensors of the same shape."""

    template: ClassVar[str] = "extremum_s8"

    dims: Dims  # of both operands and the output


def lower_extremum(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The maximum or minimum kernel for `op`.

    Not CMSIS-NN's for broadcasts: it skips elements of an operand of shape [N, H, 1, 1] against a width over 1.
    """
    assert isinstance(op, Maximum | Minimum)
    if not op.broadcast.is_flat:
        return broadcast_extremum(op)
    return CmsisExtremumS8(
        function="arm_maximum_s8" if isinstance(op, Maximum) else "arm_minimum_s8",
        **operands(op.output, op.first, op.second),
        dims=Dims(1, 1, 1, op.output.type.elements),
    )


LOWERINGS: Lowerings = {Maximum: lower_extremum, Minimum: lower_extremum}
