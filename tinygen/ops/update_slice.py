"""A tensor with a part of it replaced, at a place that is known at run time."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_only_moved, check_shape

MAX_AXES = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class UpdateSlice(Op):
    """output = input, but `update` from `start` on, which is moved to where all of it lies within."""

    result_range: ClassVar[Range] = Range.OF_OPERANDS

    input: Tensor
    update: Tensor  # as many axes, none longer
    start: Tensor  # int32 or int64, one number for each axis
    output: Tensor

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        check_only_moved(self.update, self.output)
        check_shape("output", self.output, self.input.shape)
        check_dtype("start", self.start, DType.INT32, DType.INT64)
        check_shape("start", self.start, (len(self.input.shape),))
        sizes, rank = self.update.shape, len(self.input.shape)
        if not 0 < rank <= MAX_AXES:
            raise ValueError(f"input '{self.input.name}' has {rank} dimensions, 1 to {MAX_AXES} were expected")
        if len(sizes) != rank or any(part > size for part, size in zip(sizes, self.input.shape, strict=True)):
            raise ValueError(f"an update of {list(sizes)} does not fit into {list(self.input.shape)}")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        result = values[self.input].copy()
        room = np.subtract(self.input.shape, self.update.shape)
        begin = np.clip(values[self.start].astype(np.int64), 0, room)
        place = tuple(slice(at, at + size) for at, size in zip(begin.tolist(), self.update.shape, strict=True))
        result[place] = values[self.update]
        return (result,)
