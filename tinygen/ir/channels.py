"""Which channels of its operands an operator computes each channel of its result from, and between which values."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.ir.tensor import Tensor

IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]

NONE = -1


@dataclass(frozen=True, eq=False)
class Link:
    """For each channel of a result, the channel of `operand` behind it; NONE where another operand is behind it."""

    operand: Tensor
    channels: IndexArray
    is_broadcast: bool = False  # one channel serves all of the result's, however many


@dataclass(frozen=True, eq=False)
class Intervals:
    """Smallest and largest stored value of each channel of a tensor, over all its positions."""

    low: Int64Array
    high: Int64Array

    @property
    def is_constant(self) -> BoolArray:
        """Where only one value is left."""
        return np.equal(self.low, self.high)

    def including(self, value: int) -> "Intervals":
        """The intervals, made to hold `value` too."""
        return Intervals(np.minimum(self.low, value), np.maximum(self.high, value))

    def each(self, function: Callable[[Int64Array], Int64Array]) -> "Intervals":
        """What a function that never decreases makes of them."""
        return Intervals(function(self.low), function(self.high))


def channel_count(tensor: Tensor) -> int:
    """Channels of a tensor; numbers without axes have one."""
    return tensor.shape[-1] if tensor.shape else 1


def linked(result: Tensor, *operands: Tensor) -> tuple[Link, ...]:
    """Each channel of the result from the same channel of each operand, or from its only one."""
    return tuple(_along(result, operand) for operand in operands)


def repeated(result: Tensor, operand: Tensor) -> tuple[Link, ...] | None:
    """The operand's channels in turns; None where the result ends within a turn."""
    before, after = channel_count(operand), channel_count(result)
    return (Link(operand, np.arange(after) % before),) if before and after % before == 0 else None


def united(operands: list[Intervals]) -> Intervals:
    """Of a result whose elements are elements of the operands."""
    low, high = [operand.low for operand in operands], [operand.high for operand in operands]
    return Intervals(np.min(low, axis=0), np.max(high, axis=0))


def _along(result: Tensor, operand: Tensor) -> Link:
    channels = np.arange(channel_count(result))
    is_broadcast = channel_count(operand) == 1
    return Link(operand, np.zeros_like(channels) if is_broadcast else channels, is_broadcast)
