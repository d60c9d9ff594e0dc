"""Layers on all channels of an input, computed as slices of these come: int32 sums, requantized once.

A 1x1 convolution or a fully connected layer needs all channels for one output. Adding up slice by slice needs four
bytes per output instead of one per channel, and the sums are the same integers.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.rows import Channels
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.partial_products import AddChannelProducts, ScaleProducts
from tinygen.ops.requantize import wrap_int32
from tinygen.ops.window import HW, NO_PADDING, UNIT


@dataclass(frozen=True)
class SlicePart:
    """Some channels of an input that are added to the sums."""

    slice: Tensor
    channels: Channels
    before: Tensor | None  # None for the first part
    after: Tensor


@dataclass(frozen=True, eq=False)
class ChannelSum:
    """How a layer is computed as slices of its input's channels come."""

    op: Conv2D | FullyConnected

    @property
    def input(self) -> Tensor:
        """The tensor whose channels come in slices."""
        return self.op.input

    @cached_property
    def sums(self) -> Tensor:
        """[1, H, W, units], int32; without rows where the result has none."""
        units, output = len(_weights(self.op)), self.op.output
        shape = output.shape if len(output.shape) == 4 else (1, 1, output.type.elements // units, units)
        return Tensor(f"{self.op.name}:sums", TensorType(DType.INT32, shape))

    @cached_property
    def finish(self) -> ScaleProducts:
        """From the sums to the result."""
        op, units = self.op, len(_weights(self.op))
        multipliers, shifts = (np.broadcast_to(found, units).tolist() for found in op.output_stage.multipliers)
        return ScaleProducts(
            name=op.name,
            source=op.source,
            input=self.sums,
            bias=_bias(op),
            output=op.output,
            multipliers=tuple(multipliers),
            shifts=tuple(shifts),
            clamp=op.clamp,
        )

    def add(self, part: SlicePart) -> AddChannelProducts:
        """Add some channels of the input to the sums."""
        data = _weights(self.op)
        units, channels = len(data), self.input.shape[-1]
        picked = data.reshape(units, -1, channels)[..., part.channels.first : part.channels.end]
        stored = np.ascontiguousarray(picked).reshape(units, -1)
        name = f"{self.op.weights.name}[{part.channels.first}:{part.channels.end} of {channels}]"
        return AddChannelProducts(
            name=f"{self.op.name}:{part.slice.name}",
            source=self.op.source,
            input=part.slice,
            weights=Tensor(name, replace(self.op.weights.type, shape=stored.shape), stored),
            before=part.before,
            output=part.after,
        )


def channel_sum(op: Op) -> ChannelSum | None:
    """The sums that compute `op`; None for operators that are no products with whole channels, and for all but int8.

    The result of float32 ones depends on the order of the sum; narrow weights would not stay packed.
    """
    if not isinstance(op, Conv2D | FullyConnected) or op.weights.data is None:
        return None
    is_int8 = {tensor.type.dtype for tensor in (op.input, op.weights, op.output)} == {DType.INT8}
    if not is_int8 or op.weights.coding is not None:
        return None
    is_product = _covers_pixels(op) if isinstance(op, Conv2D) else _covers_channels(op)
    return ChannelSum(op) if is_product else None


def _covers_pixels(op: Conv2D) -> bool:
    """Whether filters lie over single pixels, one after the other, or over the whole image."""
    kernel, (_, height, width, _) = op.window.kernel, op.input.shape
    if op.groups > 1 or op.padding != NO_PADDING or op.input.shape[0] != 1:
        return False
    over_pixels = kernel == UNIT and op.stride == UNIT
    return over_pixels or (kernel == HW(height, width) and op.dilation == UNIT)


def _covers_channels(op: FullyConnected) -> bool:
    """Whether the features of a vector are whole pixels, so that some channels of it are contiguous in a slice."""
    channels = op.input.shape[-1] if op.input.shape else 1
    return op.output.shape[-1:] == op.weights.shape[:1] and op.weights.shape[1] % channels == 0


def _bias(op: Conv2D | FullyConnected) -> Tensor:
    """The bias with what the input's zero point adds to every sum: -zero point * the sum of a unit's weights."""
    weights = _weights(op).astype(np.int64)
    bias = -op.input.type.zero_point * weights.reshape(len(weights), -1).sum(axis=1)
    if op.bias is not None and op.bias.data is not None:
        bias = bias + op.bias.data.astype(np.int64)
    name = f"{op.name}:bias"
    return Tensor(name, TensorType(DType.INT32, bias.shape), wrap_int32(bias).astype(np.int32))


def _weights(op: Conv2D | FullyConnected) -> Array:
    """[units, ...], the last axis counts channels or features."""
    assert op.weights.data is not None, "only constant weights are taken"
    return op.weights.data
