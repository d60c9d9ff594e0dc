"""Average and max pooling on cores with MVE, 16 channels at once."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.native.pooling import NativePoolS8
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D

_MOST_SUMMED = 255  # values whose sum fits 16 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMvePoolS8(NativePoolS8):
    """tg_native_mve_average_pool_s8 or tg_native_mve_max_pool_s8."""

    header: ClassVar[str] = "tg_native_mve.h"


def lower_pool(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The kernel for `op`, none for averages of windows that are too large."""
    assert isinstance(op, AveragePool2D | MaxPool2D)
    is_average = isinstance(op, AveragePool2D)
    if is_average and op.kernel.h * op.kernel.w > _MOST_SUMMED:
        return ()
    kernel = NativeMvePoolS8(
        function=f"tg_native_mve_{'average' if is_average else 'max'}_pool_s8",
        reads=(op.input,),
        writes=(op.output,),
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        activation=op.clamp,
    )
    return (kernel,)


LOWERINGS: Lowerings = {AveragePool2D: lower_pool, MaxPool2D: lower_pool}
