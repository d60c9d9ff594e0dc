"""Frames that overlap, added up to a signal."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class OverlapAdd(Op):
    """Each frame is added to what those before it have left, which then gives `step` numbers and moves on by as many.

    Sums of int16 saturate, one by one.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [.., frames, size], int16 or float32
    rest: Tensor  # [.., size], of the same type: what is left of the frames before
    outputs: tuple[Tensor, ...]  # the next rest, and [.., frames * step]

    @property
    def frames(self) -> int:
        """Frames of a call."""
        return self.input.shape[-2]

    @property
    def size(self) -> int:
        """Numbers of a frame."""
        return self.input.shape[-1]

    @property
    def step(self) -> int:
        """Numbers from the beginning of a frame to that of the next."""
        return self.outputs[1].shape[-1] // self.frames

    @property
    def rows(self) -> int:
        """Signals side by side."""
        return self.rest.type.elements // self.size

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return ((self.rest, self.outputs[0]),)

    def precision_points(self) -> tuple[Point, ...]:
        return () if self.input.type.dtype.is_real else (Point("clamp", "each sum to 16 bits"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT16, DType.FLOAT32)
        if len(self.input.shape) < 2 or not self.input.type.elements:
            raise ValueError(f"input '{self.input.name}' has shape {list(self.input.shape)}, frames were expected")
        for tensor in (self.rest, *self.outputs):
            check_dtype("state or output", tensor, self.input.type.dtype)
        outer = self.input.shape[:-2]
        check_shape("state", self.rest, (*outer, self.size))
        check_shape("next state", self.outputs[0], (*outer, self.size))
        if not 0 < self.step <= self.size:
            raise ValueError(
                f"steps of {self.step} for frames of {self.size}, 1 or more and at most that were expected"
            )
        check_shape("output", self.outputs[1], (*outer, self.frames * self.step))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        frames, is_real = values[self.input], self.input.type.dtype.is_real
        left: npt.NDArray[Any] = values[self.rest].astype(np.float32 if is_real else np.int64)
        given = []
        for frame in range(self.frames):
            left = left + frames[..., frame, :].astype(left.dtype)
            if not is_real:
                left = np.clip(left, DType.INT16.min, DType.INT16.max)
            given.append(left[..., : self.step])
            left = np.concatenate([left[..., self.step :], np.zeros_like(given[-1])], -1)
        dtype = self.input.type.dtype.numpy
        return left.astype(dtype), np.concatenate(given, -1).astype(dtype)
