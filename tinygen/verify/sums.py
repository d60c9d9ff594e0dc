"""What float32 sums may differ by when their terms are added in another order."""

from dataclasses import replace
from math import sqrt

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.types import Array
from tinygen.ops.clamp import UNLIMITED, fused_clamp, with_clamp
from tinygen.ops.softmax import Softmax

_UNIT_ROUNDOFF = 2.0**-24
_FEW_ROUNDINGS = 4  # of a function beside a number inside: onnxruntime's sigmoid takes 2.8, of 1
_FURTHER_ROUNDINGS = 4  # bias, factor, and a scale that was folded into weights
_MOST = 0.5  # a bound beyond it says nothing
_DEVIATIONS = 8.0  # of random roundings


def sum_tolerance(op: Op, values: Values) -> Array | None:
    """The most by which each element of two correct float32 results differs; None where no sum is computed.

    A share of the sum of the terms' magnitudes, whatever the order of additions; the result's own size does not matter,
    as terms cancel.
    """
    if not op.results[0].type.dtype.is_real:
        return None
    inside = op.inner_magnitudes(values)
    if inside is not None:
        return _bound(_FEW_ROUNDINGS * _UNIT_ROUNDOFF, inside)
    summation = op.summation
    if summation is None:
        return None
    with np.errstate(all="ignore"):
        (magnitudes,) = op.evaluate(values) if isinstance(op, Softmax) else _of_magnitudes(op, values)
    return _bound(_share(summation.terms + _FURTHER_ROUNDINGS, are_alike=not summation.are_products), magnitudes)


def _bound(share: float, magnitudes: Array) -> Array:
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
    if fused_clamp(magnitudes) is not None:
        magnitudes = with_clamp(magnitudes, UNLIMITED)
    return magnitudes.evaluate(Values(lambda tensor: np.abs(values[tensor])))
