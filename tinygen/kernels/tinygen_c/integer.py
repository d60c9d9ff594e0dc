"""Layers of int8 with int32 results."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.kernels.float32.windows import ImageStruct, WindowF32
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.integer_conv2d import IntegerConv2D, IntegerConvolution, IntegerDepthwiseConv2D
from tinygen.ops.integer_fully_connected import IntegerFullyConnected
from tinygen.ops.integer_products import IntegerProducts
from tinygen.ops.window import NO_PADDING, UNIT


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerFilters:
    """struct tg_integer_filters, but for its tables."""

    zero_point_step: int  # 0 where all channels have the same one
    channels: int
    elements: int

    @classmethod
    def of(cls, op: IntegerProducts) -> "IntegerFilters":
        """Of a layer."""
        is_uniform = len(set(op.weight_zero_points.tolist())) == 1
        return cls(
            zero_point_step=int(not is_uniform),
            channels=op.channels,
            elements=op.weights.type.elements // op.channels,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerMatmulS8(Kernel):
    """tg_integer_matmul_s8."""

    template: ClassVar[str] = "integer_matmul_s8"
    header: ClassVar[str] = "tg_integer.h"

    filters: IntegerFilters
    vectors: int
    vectors_per_zero_point: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        return _matmul_work(self, self.filters, Extent.of(op, rows, columns))

    @property
    def callees(self) -> tuple[str, ...]:
        return ("tg_add_channel_products_s8",)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerConvolveS8(Kernel):
    """tg_integer_convolve_s8 or tg_integer_depthwise_s8."""

    template: ClassVar[str] = "integer_convolve_s8"
    header: ClassVar[str] = "tg_integer.h"

    filters: IntegerFilters
    window: WindowF32
    images_per_zero_point: int


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerConvolveScratchS8(IntegerConvolveS8):
    """tg_integer_convolve_s8, which gathers patches."""

    takes_scratch: ClassVar[bool] = True

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """tap: pixels that are gathered."""
        extent, kernel = Extent.of(op, rows, columns), self.window.kernel
        done = _matmul_work(self, self.filters, extent)
        taps = extent.pixels * kernel.h * kernel.w if self.scratch_bytes else 0.0
        return Work(done.function, {**done.times, "tap": taps})

    @property
    def callees(self) -> tuple[str, ...]:
        return ("tg_add_channel_products_s8", "tg_integer_matmul_s8")


def _matmul_work(kernel: Kernel, filters: IntegerFilters, extent: Extent) -> Work:
    """summed: elements of vectors that are added up, where weights have zero points."""
    elements, outputs = filters.elements, extent.outputs
    return work(
        kernel.function,
        call=1,
        pixel=extent.pixels,
        operand=extent.pixels * elements,
        output=outputs,
        mac=outputs * elements,
        rest=outputs * (-elements % 16),
        single=outputs * (elements % 4),
        summed=extent.pixels * elements if kernel.has_table("zero_points") else 0.0,
    )


def lower_integer_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """All vectors at once."""
    assert isinstance(op, IntegerFullyConnected)
    return IntegerMatmulS8(
        function="tg_integer_matmul_s8",
        reads=(op.input, op.zero_point),
        writes=(op.output,),
        tables=_tables(op, _sums(op)),
        filters=IntegerFilters.of(op),
        vectors=op.rows,
        vectors_per_zero_point=op.rows // op.zero_point.type.elements,
    )


def lower_integer_conv2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Pixel by pixel, of 1x1 windows all of them at once."""
    assert isinstance(op, IntegerConv2D)
    elements = op.weights.type.elements // op.channels
    return IntegerConvolveScratchS8(
        function="tg_integer_convolve_s8",
        reads=(op.input, op.zero_point),
        writes=(op.output,),
        tables=_tables(op, _sums(op)),
        scratch_bytes=0 if _is_matmul(op) else 2 * elements,
        filters=IntegerFilters.of(op),
        window=_window(op, op.groups),
        images_per_zero_point=op.input.shape[0] // op.zero_point.type.elements,
    )


def lower_integer_depthwise_conv2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Channels side by side."""
    assert isinstance(op, IntegerDepthwiseConv2D)
    return IntegerConvolveS8(
        function="tg_integer_depthwise_s8",
        reads=(op.input, op.zero_point),
        writes=(op.output,),
        tables=_tables(op),
        filters=IntegerFilters.of(op),
        window=_window(op, 1),
        images_per_zero_point=op.input.shape[0] // op.zero_point.type.elements,
    )


def _is_matmul(op: IntegerConv2D) -> bool:
    is_single = op.groups == 1 and op.padding == NO_PADDING and op.stride == UNIT
    return is_single and op.window.kernel == UNIT


def _window(op: IntegerConvolution, groups: int) -> WindowF32:
    return WindowF32(
        batches=op.input.shape[0],
        input=ImageStruct.of(op.input.type),
        output=ImageStruct.of(op.output.type),
        kernel=op.window.kernel,
        stride=op.stride,
        dilation=op.dilation,
        top=op.padding.top,
        left=op.padding.left,
        groups=groups,
    )


def _sums(op: IntegerProducts) -> Table:
    """Of the stored weights of each channel."""
    assert op.weights.data is not None
    return Table("sums", op.weights.data.reshape(op.channels, -1).sum(axis=1, dtype=np.int32))


def _tables(op: IntegerProducts, *own: Table) -> tuple[Table, ...]:
    assert op.weights.data is not None
    distinct = np.unique(op.weight_zero_points)
    zero_points = op.weight_zero_points if distinct.size > 1 else distinct
    of_weights = (Table("zero_points", zero_points.astype(np.int8)),) if zero_points.any() else ()
    return (*constant_tables(op.input, op.zero_point), Table("weights", op.weights.data), *own, *of_weights)


LOWERINGS: Lowerings = {
    IntegerConv2D: lower_integer_conv2d,
    IntegerDepthwiseConv2D: lower_integer_depthwise_conv2d,
    IntegerFullyConnected: lower_integer_fully_connected,
}
