"""Graphs that are called again and again, each time with the next columns of a signal: what they keep in between."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType


@dataclass(frozen=True, eq=False)
class State:
    """Rows of a value that are kept from call to call: a call ends with the last rows of `window` as the next state."""

    tensor: Tensor  # the rows that are kept, oldest first
    window: Tensor  # these rows, then those of this call

    @property
    def fill(self) -> int:
        """What every element holds before the first call: the zero point, or 0."""
        return zero_of(self.tensor.type)

    @property
    def initial(self) -> Array:
        """The state before the first call."""
        return np.full(self.tensor.shape, self.fill, self.tensor.type.dtype.numpy)

    @property
    def source_bytes(self) -> int:
        """Where in the window the next state begins."""
        return self.window.type.bytes - self.tensor.type.bytes

    def after(self, window: Array) -> Array:
        """The state after a call, from the values of its window."""
        return window[:, window.shape[1] - self.tensor.shape[1] :].copy()


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
    states: tuple[State, ...]

    @property
    def state_bytes(self) -> int:
        """Bytes that must persist between calls."""
        return sum(state.tensor.type.bytes for state in self.states)


def zero_of(type: TensorType) -> int:
    """The stored value that means zero."""
    is_quantized = type.quant is not None and type.dtype is not DType.FLOAT32
    return type.zero_point if is_quantized else 0
