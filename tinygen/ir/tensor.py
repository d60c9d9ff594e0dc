"""Tensors: the values that operators read and write."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from tinygen.ir.coding import Coding
from tinygen.ir.types import Array, TensorType


@dataclass(frozen=True)
class View(ABC):
    """A tensor of the user's that passes have left in another form, and how its value becomes that form's."""

    name: str  # of the user's tensor
    shape: tuple[int, ...]  # that the view is taken of
    before: "View | None" = field(default=None, kw_only=True)  # that it is taken of, where there is one already

    def of(self, whole: Array) -> Array:
        """The form's value, for one of the user's tensor."""
        taken = whole if self.before is None else self.before.of(whole)
        return self._of(taken.reshape(self.shape))

    @abstractmethod
    def _of(self, whole: Array) -> Array:
        """The view of an array of the shape."""


@dataclass(frozen=True)
class ChannelPart(View):
    """Some channels (indices of the last axis) of a tensor that is not computed as a whole any more."""

    channels: tuple[int, ...]

    def _of(self, whole: Array) -> Array:
        return whole[..., list(self.channels)]


@dataclass(frozen=True)
class Reordered(View):
    """A tensor whose axis i was axis order[i]."""

    order: tuple[int, ...]

    def _of(self, whole: Array) -> Array:
        return whole.transpose(self.order)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value. Compared by identity; `data` is set for constants, `view` where passes have changed a user's tensor.

    `coding` says of constants how flash shall hold them, where that is narrower; `data` are the numbers it stands for.
    """

    name: str
    type: TensorType
    data: Array | None = None
    view: View | None = None
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
