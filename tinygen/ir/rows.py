"""Rows of tensors: the unit in which a schedule may split operators.

A row is one index of axis 1 (height) of an NHWC tensor with batch 1: contiguous bytes.
"""

from dataclasses import dataclass, replace

from tinygen.ir.tensor import Tensor


@dataclass(frozen=True, order=True)
class Rows:
    """Rows [first, end) of a tensor."""

    first: int
    end: int

    @property
    def count(self) -> int:
        """How many rows."""
        return self.end - self.first


@dataclass(frozen=True)
class Piece:
    """Some rows of a tensor as a tensor of their own."""

    tensor: Tensor
    whole: Tensor
    rows: Rows


def has_rows(tensor: Tensor) -> bool:
    """Whether the tensor can be split into rows."""
    return len(tensor.shape) == 4 and tensor.shape[0] == 1


def all_rows(tensor: Tensor) -> Rows:
    """Every row of a tensor that has rows."""
    return Rows(0, tensor.shape[1])


def row_bytes(tensor: Tensor) -> int:
    """Bytes of one row."""
    return tensor.type.bytes // tensor.shape[1]


def piece(tensor: Tensor, rows: Rows) -> Piece:
    """Rows of a tensor as a tensor."""
    batch, _, width, channels = tensor.shape
    name = f"{tensor.name}[{rows.first}:{rows.end}]"
    type = replace(tensor.type, shape=(batch, rows.count, width, channels))
    return Piece(Tensor(name, type), tensor, rows)
