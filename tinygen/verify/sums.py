"""What float32 sums may differ by when their terms are added in another order."""

from dataclasses import replace
from math import sqrt

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.types import Array
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import UNLIMITED
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.reduction import Mean, Sum
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose_conv2d import TransposeConv2D

_UNIT_ROUNDOFF = 2.0**-24
_FURTHER_ROUNDINGS = 4  # bias, factor, and a scale that was folded into weights
_MOST = 0.5  # a bound beyond it says nothing
_DEVIATIONS = 8.0  # of random roundings
_OF_LIKE_TERMS = (AveragePool2D, Mean, Softmax, Sum)  # equal numbers are rounded to the same side each time


def sum_tolerance(op: Op, values: Values) -> Array | None:
    """The most by which each element of two correct float32 results differs; None where no sum is computed.

    A share of the sum of the terms' magnitudes, whatever the order of additions; the result's own size does not matter,
    as terms cancel.
    """
    count = _terms(op)
    if count is None or not op.results[0].type.dtype.is_real:
        return None
    with np.errstate(all="ignore"):
        (magnitudes,) = op.evaluate(values) if isinstance(op, Softmax) else _of_magnitudes(op, values)
    share = _share(count + _FURTHER_ROUNDINGS, isinstance(op, _OF_LIKE_TERMS))
    bound: Array = np.where(np.isfinite(magnitudes), share * magnitudes.astype(np.float64), 0.0)
    return bound


def _share(roundings: int, are_alike: bool) -> float:
    """n*u for either result (Higham, Accuracy and Stability of Numerical Algorithms, 4.2); of many products, whose
    roundings are no more alike than they are, a multiple of sqrt(n)*u (Higham and Mary, A New Approach to Probabilistic
    Rounding Error Analysis), so that a single wrong weight does not hide in it.
    """
    always = min(2 * roundings * _UNIT_ROUNDOFF, _MOST)
    return always if are_alike else min(always, _DEVIATIONS * sqrt(roundings) * _UNIT_ROUNDOFF)


def _of_magnitudes(op: Op, values: Values) -> tuple[Array, ...]:
    """The operator on the magnitudes of all operands, without limits."""
    constants = {t: replace(t, data=np.abs(t.data)) for t in op.operands if t.data is not None}
    magnitudes = op.replace_tensors(constants)
    if isinstance(magnitudes, Conv2D | DepthwiseConv2D | FullyConnected | TransposeConv2D | AveragePool2D):
        magnitudes = replace(magnitudes, clamp=UNLIMITED)
    return magnitudes.evaluate(Values(lambda tensor: np.abs(values[tensor])))


def _terms(op: Op) -> int | None:
    """How many numbers are added for each element of the result."""
    match op:
        case Conv2D() | FullyConnected() | TransposeConv2D():
            return op.weights.type.elements // op.weights.shape[0]
        case DepthwiseConv2D():
            return op.weights.shape[1] * op.weights.shape[2]
        case BatchMatMul():
            return op.depth
        case Mean() | Sum():
            return op.count
        case AveragePool2D():
            return op.kernel.h * op.kernel.w
        case Softmax():
            return op.row_size
        case _:
            return None
