"""Average and max pooling."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.diagonal import Diagonal
from tinygen.ops.clamp import Clamp
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolS8(Kernel):
    """arm_avgpool_s8 or arm_max_pool_s8."""

    template: ClassVar[str] = "pool_s8"
    takes_scratch: ClassVar[bool] = True
    element: ClassVar[str] = "int8_t"

    stride: TileStruct
    padding: TileStruct
    activation: Clamp
    input_dims: Dims
    filter_dims: Dims
    output_dims: Dims


def lower_average_pool2d(op: Op, toolbox: Toolbox) -> Kernel:
    """Average pooling; the DSP variant sums a pixel's channels in scratch."""
    assert isinstance(op, AveragePool2D)
    scratch_bytes = 4 * op.input.shape[3] if toolbox.has_dsp_kernels else 0
    return _pool(op, "arm_avgpool_s8", scratch_bytes, toolbox)


def lower_max_pool2d(op: Op, toolbox: Toolbox) -> Kernel:
    """Max pooling."""
    assert isinstance(op, MaxPool2D)
    return _pool(op, "arm_max_pool_s8", 0, toolbox)


def _pool(op: AveragePool2D | MaxPool2D, function: str, scratch_bytes: int, toolbox: Toolbox) -> Kernel:
    return PoolS8(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        scratch_bytes=scratch_bytes,
        diagonal=Diagonal.CHANNELS if toolbox.is_only_portable else None,
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.padding.left, h=op.padding.top),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(1, op.kernel.h, op.kernel.w, 1),
        output_dims=Dims.nhwc(op.output.type),
    )


LOWERINGS: Lowerings = {AveragePool2D: lower_average_pool2d, MaxPool2D: lower_max_pool2d}
