"""Depthwise convolutions of a single channel, written as ordinary convolutions where those are cheaper."""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.window import UNIT


def is_cheaper_as_convolution(op: DepthwiseConv2D, toolbox: Toolbox) -> bool:
    """Whether a convolution takes fewer instructions, as measured on Cortex-M3, M4 and M55.

    CMSIS-NN's generic depthwise kernel computes four channels at a time where the multiplier is a multiple of four, and
    is slow elsewhere; its convolution pays for gathering columns, which many output channels share. MVE's convolution
    wins always but for four channels (3x3 filters on M55: 444,000 instructions against 574,000 for 8 channels, 376,000
    against 330,000 for 4), and takes 64 bytes of scratch where the depthwise kernel takes 4,464.
    """
    if op.input.shape[3] != 1:
        return False
    channels, is_pixelwise = op.multiplier, op.window.kernel == UNIT
    if toolbox.library is Library.PORTABLE:
        return channels > 1 and not is_pixelwise
    if toolbox.has_mve_kernels:
        return channels != 4
    if is_pixelwise or (channels > 2 and channels % 4 != 0):
        return True
    return toolbox.has_dsp_kernels and channels > 16


def as_convolution(op: DepthwiseConv2D) -> Conv2D:
    """The same operator as a convolution."""
    return Conv2D(
        name=op.name,
        source=op.source,
        input=op.input,
        weights=_filters(op.weights),
        bias=op.bias,
        output=op.output,
        stride=op.stride,
        dilation=op.dilation,
        padding=op.padding,
        clamp=op.clamp,
    )


def unless_alone(op: Op) -> Op:
    """A depthwise convolution that makes many channels of a single one as a convolution; all others as they are."""
    if isinstance(op, DepthwiseConv2D) and op.input.shape[3] == 1 < op.multiplier and op.weights.is_constant:
        return as_convolution(op)
    return op


_known: WeakKeyDictionary[Tensor, Tensor] = WeakKeyDictionary()  # parts of one operator have the same filters


def _filters(weights: Tensor) -> Tensor:
    """[1, KH, KW, N] as [N, KH, KW, 1]."""
    if weights not in _known:
        _known[weights] = _turned(weights)
    return _known[weights]


def _turned(weights: Tensor) -> Tensor:
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    data = np.ascontiguousarray(weights.data.transpose(3, 1, 2, 0))
    quant = weights.type.quant
    if quant is not None and not quant.is_per_tensor:
        quant = Quant(quant.scales, quant.zero_points, axis=0)
    return Tensor(weights.name, replace(weights.type, shape=data.shape, quant=quant), data)
