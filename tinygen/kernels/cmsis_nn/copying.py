"""Copies of whole tensors, where no memory can be shared."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.ops.copy import Copy
from tinygen.ops.reshape import Reshape


@dataclass(frozen=True, eq=False, kw_only=True)
class ReshapeS8(Kernel):
    """arm_reshape_s8, on bytes."""

    template: ClassVar[str] = "reshape_s8"

    total_size: int


def lower_copy(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The copying kernel for `op`."""
    assert isinstance(op, Copy | Reshape)
    return ReshapeS8(
        function="arm_reshape_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        total_size=op.input.type.bytes,
    )


LOWERINGS: Lowerings = {Copy: lower_copy, Reshape: lower_copy}
