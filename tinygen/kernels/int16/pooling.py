"""Average and max pooling on int16."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox
from tinygen.kernels.cmsis_nn.pooling import PoolS8
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolS16(PoolS8):
    """arm_avgpool_s16 or arm_max_pool_s16."""

    element: ClassVar[str] = "int16_t"


def lower_pool(op: Op, toolbox: Toolbox) -> Kernel:
    """The pooling kernel for `op`; the DSP variant of the average sums a pixel's channels in scratch."""
    assert isinstance(op, AveragePool2D | MaxPool2D)
    is_average = isinstance(op, AveragePool2D)
    return PoolS16(
        function="arm_avgpool_s16" if is_average else "arm_max_pool_s16",
        reads=(op.input,),
        writes=(op.output,),
        scratch_bytes=4 * op.input.shape[3] if is_average and toolbox.has_dsp_kernels else 0,
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.padding.left, h=op.padding.top),
        activation=op.clamp,
        input_dims=Dims.nhwc(op.input.type),
        filter_dims=Dims(1, op.kernel.h, op.kernel.w, 1),
        output_dims=Dims.nhwc(op.output.type),
    )


LOWERINGS: Lowerings = {AveragePool2D: lower_pool, MaxPool2D: lower_pool}
