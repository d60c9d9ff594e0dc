"""Average and max pooling, four channels at once."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.native.native import NativeKernel
from tinygen.ops.clamp import Clamp
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import Window

_MOST_SUMMED = 255  # values whose sum fits 16 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class NativePoolS8(NativeKernel):
    """tg_native_average_pool_s8 or tg_native_max_pool_s8."""

    template: ClassVar[str] = "native_pool_s8"
    header: ClassVar[str] = "tg_native.h"

    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    window: Window
    activation: Clamp


def lower_average_pool2d(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The native kernel for `op`, none for windows that are too large."""
    assert isinstance(op, AveragePool2D)
    is_small = op.kernel.h * op.kernel.w <= _MOST_SUMMED
    return (_pool(op, "tg_native_average_pool_s8"),) if is_small else ()


def lower_max_pool2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The native kernel for `op`."""
    assert isinstance(op, MaxPool2D)
    return _pool(op, "tg_native_max_pool_s8")


def _pool(op: AveragePool2D | MaxPool2D, function: str) -> Kernel:
    return NativePoolS8(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        input_shape=op.input.shape,
        output_shape=op.output.shape,
        window=op.window,
        activation=op.clamp,
    )


LOWERINGS: Lowerings = {AveragePool2D: lower_average_pool2d, MaxPool2D: lower_max_pool2d}
