"""Layers of signs with signs: products are equal bits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.signs import pack_signs, words_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.kernels.tinygen_c.packed import bias_tables
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.clamp import Clamp
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.sign_conv2d import SignConv2D
from tinygen.ops.sign_fully_connected import SignFullyConnected

_POINT = TileStruct(w=1, h=1)
_NO_PADDING = TileStruct(w=0, h=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PackSignsKernel(Kernel):
    """tg_pack_signs_s8 or tg_pack_signs_s16."""

    template: ClassVar[str] = "pack_signs"
    header: ClassVar[str] = "tg_signs.h"

    pixels: int
    depth: int
    threshold: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveSigns(Kernel):
    """tg_convolve_signs_s8; scratch takes the words of a window."""

    template: ClassVar[str] = "convolve_signs"
    header: ClassVar[str] = "tg_signs.h"
    takes_scratch: ClassVar[bool] = True

    input_dims: Dims  # c: words of a pixel
    filter_dims: Dims  # c: channels
    output_dims: Dims
    stride: TileStruct
    padding: TileStruct
    dilation: TileStruct
    counts_padding: int  # whether what lies outside is -1 (a real zero then), and not left out
    output_zero_point: int
    activation: Clamp


def lower_pack_signs(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The packing of signs."""
    assert isinstance(op, PackSigns)
    depth = op.input.shape[-1]
    return PackSignsKernel(
        function="tg_pack_signs_s16" if op.input.type.dtype is DType.INT16 else "tg_pack_signs_s8",
        reads=(op.input,),
        writes=(op.output,),
        pixels=op.input.type.elements // depth,
        depth=depth,
        threshold=op.threshold,
    )


def lower_sign_conv2d(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Any filter, stride and dilation."""
    assert isinstance(op, SignConv2D)
    return _kernel(
        op.output_stage,
        input_dims=Dims(*op.input.shape),
        filter_dims=Dims(*op.weights.shape),
        output_dims=Dims(*op.output.shape),
        stride=TileStruct.of(op.stride),
        padding=TileStruct(w=op.padding.left, h=op.padding.top),
        dilation=TileStruct.of(op.dilation),
    )


def lower_sign_fully_connected(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """As a convolution of images of one line, which the filter covers."""
    assert isinstance(op, SignFullyConnected)
    units = op.weights.shape[0]
    return _kernel(
        op.output_stage,
        input_dims=Dims(op.rows, 1, op.pixels, words_of(op.depth)),
        filter_dims=Dims(units, 1, op.pixels, op.depth),
        output_dims=Dims(op.rows, 1, 1, units),
        stride=_POINT,
        padding=_NO_PADDING,
        dilation=_POINT,
    )


def _kernel(
    stage: OutputStage,
    *,
    input_dims: Dims,
    filter_dims: Dims,
    output_dims: Dims,
    stride: TileStruct,
    padding: TileStruct,
    dilation: TileStruct,
) -> ConvolveSigns:
    weights = _filters(stage.weights, filter_dims)
    counts_padding = stage.input.type.zero_point != 0
    return ConvolveSigns(
        function="tg_convolve_signs_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(
            Table("weights", pack_signs(weights)),
            *(_bias_of_levels(stage, weights) if counts_padding else bias_tables(stage.bias)),
            *per_channel_tables(stage, filter_dims.n),
        ),
        scratch_bytes=4 * filter_dims.h * filter_dims.w * input_dims.c,
        input_dims=input_dims,
        filter_dims=filter_dims,
        output_dims=output_dims,
        stride=stride,
        padding=padding,
        dilation=dilation,
        counts_padding=int(counts_padding),
        output_zero_point=stage.output.type.zero_point,
        activation=stage.clamp,
    )


def _filters(weights: Tensor, dims: Dims) -> "np.typing.NDArray[np.generic]":
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return weights.data.reshape(dims.n, dims.h, dims.w, dims.c)


def _bias_of_levels(stage: OutputStage, weights: "np.typing.NDArray[np.generic]") -> tuple[Table, ...]:
    """Values are 0 and 2 where signs are -1 and 1: the sum of the weights is added to that of the products."""
    sums = weights.reshape(len(weights), -1).astype(np.int64).sum(axis=1)
    bias = 0 if stage.bias is None or stage.bias.data is None else stage.bias.data.astype(np.int64)
    return (Table("bias", (sums + bias).astype(np.int32)),)


LOWERINGS: Lowerings = {
    PackSigns: lower_pack_signs,
    SignConv2D: lower_sign_conv2d,
    SignFullyConnected: lower_sign_fully_connected,
}
