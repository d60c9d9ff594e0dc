"""Which channels of its operands an operator computes each channel of its result from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.binary import Binary
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.lookup import Lookup
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Reduction
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose

IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

NONE = -1


@dataclass(frozen=True, eq=False)
class Link:
    """For each channel of a result, the channel of `operand` behind it; NONE where another operand is behind it."""

    operand: Tensor
    channels: IndexArray
    is_broadcast: bool = False  # one channel serves all of the result's, however many


def channel_count(tensor: Tensor) -> int:
    """Channels of a tensor; numbers without axes have one."""
    return tensor.shape[-1] if tensor.shape else 1


def links(op: Op) -> tuple[Link, ...] | None:
    """All operands with channels of an operator on 8-bit integers that never mixes them; None for others."""
    if any(tensor.type.dtype.bytes > 1 for tensor in (*op.variable_operands, *op.results)):
        return None
    match op:
        case DepthwiseConv2D():
            channels = op.input.shape[3]
            return (Link(op.input, np.repeat(np.arange(channels), op.multiplier), is_broadcast=channels == 1),)
        case Binary():
            return _joined(op.output, op.first, op.second)
        case Prelu():
            return _joined(op.output, op.input, op.alpha)
        case Concat():
            return _concat_links(op)
        case Lookup() | Reshape():
            return _repeated(op.input, op.output)
    return _joined(op.results[0], op.operands[0]) if _keeps_channels(op) else None


def _keeps_channels(op: Op) -> bool:
    """Whether each channel of the only result is computed from the same channel of the only operand."""
    match op:
        case AveragePool2D() | MaxPool2D() | Copy() | ResizeNearest() | ResizeBilinear():
            return True
        case Pad() | MirrorPad():
            return bool(op.before) and not op.before[-1] and not op.after[-1]
        case Slice():
            return bool(op.begin) and op.strides[-1] == 1 and op.output.shape[-1] == op.input.shape[-1]
        case Transpose():
            return bool(op.permutation) and op.permutation[-1] == len(op.permutation) - 1
        case Reduction():
            return len(op.input.shape) - 1 not in op.axes and channel_count(op.input) == channel_count(op.output)
    return False


def _joined(result: Tensor, *operands: Tensor) -> tuple[Link, ...]:
    return tuple(_along(result, operand) for operand in operands)


def _along(result: Tensor, operand: Tensor) -> Link:
    channels = np.arange(channel_count(result))
    is_broadcast = channel_count(operand) == 1
    return Link(operand, np.zeros_like(channels) if is_broadcast else channels, is_broadcast)


def _repeated(operand: Tensor, result: Tensor) -> tuple[Link, ...] | None:
    before, after = channel_count(operand), channel_count(result)
    return (Link(operand, np.arange(after) % before),) if before and after % before == 0 else None


def _concat_links(op: Concat) -> tuple[Link, ...]:
    if op.axis != len(op.output.shape) - 1:
        return _joined(op.output, *op.inputs)
    found, first = [], 0
    for operand in op.inputs:
        channels = np.full(op.output.shape[-1], NONE)
        channels[first : first + operand.shape[-1]] = np.arange(operand.shape[-1])
        found.append(Link(operand, channels))
        first += operand.shape[-1]
    return tuple(found)
