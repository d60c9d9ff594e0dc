"""Average pooling as uint8 has it."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.pool2d import AveragePoolUp2D
from tinygen.ops.window import Window


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePoolUpS8(Kernel):
    """tg_average_pool_up_s8."""

    template: ClassVar[str] = "average_pool_up_s8"
    header: ClassVar[str] = "tg_pool.h"

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: Window
    activation: Clamp


def lower_average_pool_up(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The pooling kernel for `op`."""
    assert isinstance(op, AveragePoolUp2D)
    return AveragePoolUpS8(
        function="tg_average_pool_up_s8",
        reads=(op.input,),
        writes=(op.output,),
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        activation=op.clamp,
    )


LOWERINGS: Lowerings = {AveragePoolUp2D: lower_average_pool_up}
