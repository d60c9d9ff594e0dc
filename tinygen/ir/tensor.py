"""Tensors: the values that operators read and write."""

from dataclasses import dataclass

from tinygen.ir.coding import Coding
from tinygen.ir.types import Array, TensorType


@dataclass(frozen=True)
class ChannelPart:
    """Some channels (indices of the last axis) of a tensor that is not computed as a whole any more."""

    name: str  # of the whole
    shape: tuple[int, ...]
    channels: tuple[int, ...]

    def of(self, whole: Array) -> Array:
        """These channels of a value of the whole."""
        return whole.reshape(self.shape)[..., list(self.channels)]


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value. Compared by identity; `data` is set for constants, `part` where a pass has removed channels.

    `coding` says of constants how flash shall hold them, where that is narrower; `data` are the numbers it stands for.
    """

    name: str
    type: TensorType
    data: Array | None = None
    part: ChannelPart | None = None
    coding: Coding | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known at compile time."""
        return self.data is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.type.shape


@dataclass(frozen=True)
class Alias:
    """`part` may be the bytes of `whole` from `offset_bytes` on, instead of memory of its own."""

    part: Tensor
    whole: Tensor
    offset_bytes: int = 0
