"""Rows, columns and channels of tensors: the units in which a schedule may split operators.

A row is one index of axis 1 (height) of an NHWC tensor with batch 1: contiguous bytes. A column is one of axis 2, a
channel one of the last axis, whatever the rank.
"""

from dataclasses import dataclass, replace

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array


@dataclass(frozen=True, order=True)
class _Span:
    first: int
    end: int

    @property
    def count(self) -> int:
        """How many."""
        return self.end - self.first


@dataclass(frozen=True, order=True)
class Rows(_Span):
    """Rows [first, end) of a tensor."""


@dataclass(frozen=True, order=True)
class Columns(_Span):
    """Columns [first, end) of a tensor."""


@dataclass(frozen=True, order=True)
class Channels(_Span):
    """Channels [first, end) of a tensor."""


@dataclass(frozen=True)
class Piece:
    """Some rows of a tensor as a tensor of their own; `columns` where it is just some columns of them.

    With `channels` it is those of all rows and columns, one pixel after the other.
    """

    tensor: Tensor
    whole: Tensor
    rows: Rows
    columns: Columns | None = None
    channels: Channels | None = None


def has_rows(tensor: Tensor) -> bool:
    """Whether the tensor can be split into rows."""
    shape = tensor.shape
    return len(shape) == 4 and shape[0] == 1


def all_rows(tensor: Tensor) -> Rows:
    """Every row of a tensor that has rows."""
    return Rows(0, tensor.shape[1])


def every_row(tensor: Tensor) -> Rows:
    """Every index of axis 1 of an image or of several; anything else is one row."""
    return Rows(0, tensor.shape[1] if len(tensor.shape) == 4 else 1)


def all_columns(tensor: Tensor) -> Columns:
    """Every column of a tensor that has rows."""
    return Columns(0, tensor.shape[2])


def all_channels(tensor: Tensor) -> Channels:
    """Every channel of a tensor; a scalar has one."""
    return Channels(0, tensor.shape[-1] if tensor.shape else 1)


def is_pixel(tensor: Tensor) -> bool:
    """Whether all of a tensor's elements are channels of one pixel: any of them are contiguous."""
    return bool(tensor.shape) and tensor.type.elements == tensor.shape[-1]


def row_bytes(tensor: Tensor) -> int:
    """Bytes of one row."""
    return tensor.type.bytes // tensor.shape[1]


def pixel_bytes(tensor: Tensor) -> int:
    """Bytes of one row of one column."""
    return row_bytes(tensor) // tensor.shape[2]


def piece(tensor: Tensor, rows: Rows, columns: Columns | None = None) -> Piece:
    """Rows of a tensor, or some columns of them, as a tensor."""
    batch, _, width, channels = tensor.shape
    across = f", {columns.first}:{columns.end}" if columns else ""
    name = f"{tensor.name}[{rows.first}:{rows.end}{across}]"
    type = replace(tensor.type, shape=(batch, rows.count, columns.count if columns else width, channels))
    return Piece(Tensor(name, type), tensor, rows, columns)


def whole_piece(tensor: Tensor) -> Piece:
    """All of a tensor."""
    return Piece(tensor, tensor, every_row(tensor))


def slice_of(tensor: Tensor, channels: Channels) -> Piece:
    """Some channels of a tensor as a tensor."""
    name = f"{tensor.name}[{channels.first}:{channels.end} of {tensor.shape[-1]}]"
    type = replace(tensor.type, shape=(*tensor.shape[:-1], channels.count))
    return Piece(Tensor(name, type), tensor, every_row(tensor), channels=channels)


def part_of(value: Array, part: Piece) -> Array:
    """The rows, columns and channels of a value that a piece is."""
    if part.channels:
        return value[..., part.channels.first : part.channels.end]
    if value.ndim != 4 and part.tensor is part.whole:
        return value
    rows = value[:, part.rows.first : part.rows.end]
    return rows[:, :, part.columns.first : part.columns.end] if part.columns else rows
