"""Selection by index along an axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_only_moved, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(Op):
    """output[b, o, i, n] = input[b, o, indices[b, i], n]: b over the first `batch_dims` axes, i along `axis`."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor
    indices: Tensor  # int32; its first axes are the batches
    output: Tensor
    axis: int
    batch_dims: int

    @property
    def batches(self) -> int:
        """Lists of indices, each for its part of the input."""
        return prod(self.input.shape[: self.batch_dims])

    @property
    def outer(self) -> int:
        """Blocks of a batch that the same indices apply to."""
        return prod(self.input.shape[self.batch_dims : self.axis])

    @property
    def axis_size(self) -> int:
        """Choices: indices are in [0, axis_size)."""
        return self.input.shape[self.axis]

    @property
    def index_count(self) -> int:
        """Indices of a batch."""
        return prod(self.indices.shape[self.batch_dims :])

    @property
    def slice_bytes(self) -> int:
        """What one index selects."""
        return prod(self.input.shape[self.axis + 1 :]) * self.input.type.dtype.bytes

    def check_types(self) -> None:
        """Raise ValueError where input and output do not have the same element type and quantization."""
        check_only_moved(self.input, self.output)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        self.check_types()
        check_dtype("indices", self.indices, DType.INT32)
        shape, chosen = self.input.shape, self.indices.shape
        if not 0 <= self.batch_dims <= self.axis < len(shape) or self.batch_dims > len(chosen):
            raise ValueError(
                f"axis {self.axis} with {self.batch_dims} batch dimensions does not fit input {list(shape)} "
                f"and indices {list(chosen)}"
            )
        if shape[: self.batch_dims] != chosen[: self.batch_dims] or 0 in (*shape, *chosen):
            raise ValueError(f"input {list(shape)} and indices {list(chosen)} do not have the same batches")
        check_shape("output", self.output, (*shape[: self.axis], *chosen[self.batch_dims :], *shape[self.axis + 1 :]))
        if self.indices.data is not None:
            self._check_range(self.indices.data)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - constants have no rows
        return rows if self.axis > 1 and self.batch_dims == 0 and self.indices.is_constant else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        self._check_range(values[self.indices])
        indices = values[self.indices].reshape(self.batches, 1, self.index_count, 1)
        blocks = values[self.input].reshape(self.batches, self.outer, self.axis_size, -1)
        return (np.take_along_axis(blocks, indices.astype(np.int64), axis=2).reshape(self.output.shape),)

    def _check_range(self, indices: Array) -> None:
        least, largest = int(indices.min()), int(indices.max())
        if least < 0 or largest >= self.axis_size:
            raise ValueError(f"indices from {least} to {largest}, 0 to {self.axis_size - 1} were expected")


def reversed_places(sizes: Sequence[int], batch: int, along: int, lengths: Sequence[int]) -> Array:
    """The place, int32, in rows of these axes, that each row of reversed sequences comes from.

    The sequences lie along axis `along`, one for each index of axis `batch`; as many of its first rows stand backwards
    as its length says, 0 to `sizes[along]`.
    """
    places = np.arange(prod(sizes), dtype=np.int32).reshape(sizes)
    sequences = np.moveaxis(places, (batch, along), (0, 1))  # a view
    for sequence, length in zip(sequences, lengths, strict=True):
        sequence[:length] = sequence[:length][::-1].copy()
    return places.reshape(-1)
