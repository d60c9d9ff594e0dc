"""Two int8 weights as one 16-bit number, 256 * second + first: both are multiplied at once, one unpacking is enough.

With b and w for the biases and weights of two channels, and for all sums modulo 2**32:

    first  = b0 + sum(w0 * x)
    joined = (256 * b1 + b0) + sum((256 * w1 + w0) * x) = 256 * second + first

so that the second sum is (joined - first) >> 8 where it fits 24 bits. That is proven here from the smallest and the
largest sum over all int8 inputs; of channels whose multiplier is 0 the sum does not count.
"""

import numpy as np

from tinygen.ir.types import Array
from tinygen.kernels.native.linear import LinearRequantization
from tinygen.kernels.native.requantization import ShortRequantization
from tinygen.ops.requantize import Int64Array, wrap_int32

_END = 1 << 23
_FACTOR = 256


def can_join(
    weights: Array, short: ShortRequantization, requantization: ShortRequantization | LinearRequantization, pairs: Array
) -> bool:
    """Whether weights [channel, element] can be joined by `pairs` [pair, 2] of channels, without loss in any sum."""
    second = pairs[:, 1]
    added = wrap_int32(requantization.bias - short.bias)[second]
    is_free = short.multiplier[second] == 0
    fits = (short.low[second] + added >= -_END) & (short.high[second] + added < _END)
    return bool((fits | is_free).all()) and int(_seconds(weights.astype(np.int64)[pairs]).min()) >= -_FACTOR // 2


def join(weights: Array, bias: Int64Array) -> tuple[Array, Int64Array]:
    """Weights [pair, 2, element] and biases [pair, 2] with the second ones joined: bytes, the first one the lower."""
    joined = np.stack((weights[:, 0], _seconds(weights.astype(np.int64)).astype(weights.dtype)), axis=1)
    return joined, np.stack((bias[:, 0], wrap_int32(_FACTOR * bias[:, 1] + bias[:, 0])), axis=1)


def _seconds(weights: Int64Array) -> Int64Array:
    """The high bytes of 256 * second + first, from weights [pair, 2, element]."""
    seconds: Int64Array = weights[:, 1] - (weights[:, 0] < 0)
    return seconds
