"""Requantization of vectors: multiply, fix of negative values, rounding shift, zero point, each one instruction.

The arithmetic is that of `requantization`, in the same range. Channels whose output never changes get weights of zero
and a bias that gives this output.
"""

from dataclasses import dataclass

import numpy as np

from tinygen.kernels.native.requantization import short_requantization
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.requantize import Int64Array

_HALF = 1 << 30  # a multiplier of one half


@dataclass(frozen=True, eq=False)
class VectorRequantization:
    """Filters [channels, elements] with constants of each channel; `is_relu`: the clamp hides negative results."""

    weights: Int64Array
    bias: Int64Array  # with the input's zero point folded in, modulo 2**32
    multiplier: Int64Array
    shift: Int64Array  # negative: to the right
    is_relu: bool

    @property
    def scales(self) -> Int64Array:
        """Bias, multiplier and shift of each channel, [channels, 3]."""
        return np.stack((self.bias, self.multiplier, self.shift), axis=1)


def vector_requantization(stage: OutputStage, weights: Int64Array) -> VectorRequantization | None:
    """The constants for filters `weights` [channels, elements]; None where the short form is not proven exact."""
    short = short_requantization(stage, weights)
    if short is None:
        return None
    is_constant = short.multiplier == 0
    above = (short.offset >> short.shift) - stage.output.type.zero_point  # of constant channels: what they give
    return VectorRequantization(
        np.where(is_constant[:, np.newaxis], 0, weights),
        np.where(is_constant, 4 * above, short.bias),
        np.where(is_constant, _HALF, short.multiplier),
        -short.shift,
        short.is_relu,
    )
