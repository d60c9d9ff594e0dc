"""Constants of operators on some of their channels."""

from dataclasses import replace

import numpy as np

from tinygen.ir.rows import Channels
from tinygen.ir.tensor import Tensor


def constant_slice(tensor: Tensor, channels: Channels, axis: int = -1) -> Tensor:
    """The indices `channels` of one axis of a constant, with their scales where that axis has some of its own."""
    assert tensor.data is not None, "only constants are known"
    axis %= len(tensor.shape)
    picked = slice(channels.first, channels.end)
    data = np.ascontiguousarray(tensor.data[(slice(None),) * axis + (picked,)])
    quant = tensor.type.quant
    if quant and not quant.is_per_tensor and quant.axis == axis:
        quant = replace(quant, scales=quant.scales[picked], zero_points=quant.zero_points[picked])
    indices = np.arange(channels.first, channels.end)
    coding = tensor.coding and tensor.coding.picked(axis, indices)
    name = f"{tensor.name}[{channels.first}:{channels.end} of {tensor.shape[axis]}]"
    return Tensor(name, replace(tensor.type, shape=data.shape, quant=quant), data, coding=coding)


def constant_slices(count: int, channels: Channels, *operands: Tensor) -> dict[Tensor, Tensor]:
    """Of operands that are broadcast to `count` channels: for each constant that has so many, its `channels`."""
    found = (tensor for tensor in operands if tensor.is_constant and tensor.shape and tensor.shape[-1] == count > 1)
    return {tensor: constant_slice(tensor, channels) for tensor in found}
