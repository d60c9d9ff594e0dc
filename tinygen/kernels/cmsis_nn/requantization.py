"""Constant tables that convolutions and fully connected layers share."""

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Table
from tinygen.ops.accumulate import OutputStage


def weight_tables(weights: Tensor, bias: Tensor | None) -> tuple[Table, ...]:
    """Tables `weights` and, where there is one, `bias`."""
    tables = [Table("weights", _constant(weights))]
    if bias is not None:
        tables.append(Table("bias", _constant(bias)))
    return tuple(tables)


def per_channel_tables(stage: OutputStage, channels: int) -> tuple[Table, ...]:
    """Tables `multiplier` and `shift` with one entry per output channel, also where the weights have one scale."""
    multiplier, shift = stage.multipliers
    return (
        Table("multiplier", np.broadcast_to(multiplier, channels).astype(np.int32)),
        Table("shift", np.broadcast_to(shift, channels).astype(np.int32)),
    )


def _constant(tensor: Tensor) -> "np.typing.NDArray[np.generic]":
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' must be a constant")
    return tensor.data
