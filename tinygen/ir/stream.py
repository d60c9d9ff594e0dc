"""Graphs that are called again and again, each time with the next part of a signal: what they keep in between."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType


@dataclass(frozen=True, eq=False)
class State:
    """A value that is kept from call to call: a call ends with the last bytes of `window` as the next state.

    Either the window is longer: rows that are kept, oldest first, then those of this call. Or it is as long as the
    state: then it is written over it, after whatever reads the state.
    """

    tensor: Tensor
    window: Tensor
    start: Array | None = None  # of the tensor's type; None where every element means zero

    @property
    def initial(self) -> Array:
        """The state before the first call: `start`, or zeros."""
        if self.start is not None:
            return self.start
        return np.full(self.tensor.shape, zero_of(self.tensor.type), self.tensor.type.dtype.numpy)

    @property
    def is_overwritten(self) -> bool:
        """Whether the next state is written over this one."""
        return self.window.type.bytes == self.tensor.type.bytes

    @property
    def source_bytes(self) -> int:
        """Where in the window the next state begins."""
        return self.window.type.bytes - self.tensor.type.bytes

    def after(self, window: Array) -> Array:
        """The state after a call, from the values of its window."""
        return window.reshape(-1)[-self.tensor.type.elements :].reshape(self.tensor.shape).copy()


@dataclass(frozen=True, eq=False)
class Ring:
    """Rows of calls so far and of this one: those that are kept stay where they lie until new ones take their places.

    Row `place` of the kept ones is the oldest; behind the last of them stands the first one.
    """

    kept: Tensor  # [1, rows, columns, channels]
    place: Tensor  # [1], int32
    new: Tensor  # [1, new rows, columns, channels]

    @property
    def rows(self) -> int:
        """Kept and new ones."""
        return self.kept.shape[1] + self.new.shape[1]

    def verify(self) -> None:
        """Raise ValueError unless the tensors are such rows, and a place."""
        kept, new = self.kept, self.new
        if len(kept.shape) != 4 or len(new.shape) != 4 or (kept.shape[0], *kept.shape[2:]) != (1, *new.shape[2:]):
            raise ValueError(
                f"ring '{kept.name}' has shape {list(kept.shape)}, new rows '{new.name}' {list(new.shape)}: "
                "one batch of equal rows was expected"
            )
        if self.place.shape != (1,) or self.place.type.dtype is not DType.INT32:
            raise ValueError(f"place '{self.place.name}' is {self.place.type}, one i32 was expected")

    @staticmethod
    def in_order(kept: Array, place: Array, new: Array) -> Array:
        """All rows, the oldest first, of values of the three."""
        return np.concatenate([np.roll(kept, -int(place[0]), axis=1), new], axis=1)


@dataclass(frozen=True, eq=False)
class Stream:
    """How a graph is called: which part of the model's input it takes, and from which call on its outputs count.

    Call i, counted from 1, gets columns [(i - 1) * columns, i * columns) of the signal. From call `warmup_calls` on,
    its outputs are those of the model for the last `window_columns` columns.
    """

    axis: int  # of the model's inputs, along which the signal runs
    columns: int
    window_columns: int
    warmup_calls: int


def zero_of(type: TensorType) -> int:
    """The stored value that means zero."""
    is_quantized = type.quant is not None and type.dtype is not DType.FLOAT32
    return type.zero_point if is_quantized else 0
