"""Means taken off and divided by deviations, in integers: against real arithmetic, and as C over random layers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.stored_operators import random_standardize
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ops.standardize import FixedAffine

_ALLOWED = 0.5 + 2**-7


@pytest.mark.parametrize("seed", range(60))
def test_results_are_within_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    op = random_standardize(rng)
    op.verify()
    type = op.input.type
    stored = rng.integers(type.min, type.max + 1, type.shape) >> rng.integers(0, 8)
    if seed % 5 == 0:
        stored[:] = stored.reshape(-1)[0]  # no deviation
    stored = np.clip(stored, type.min, type.max).astype(type.dtype.numpy)
    values = {op.factors: op.factors.data, op.summands: op.summands.data, op.input: stored}
    (result,) = op.evaluate(Values(values.__getitem__))
    found = result.astype(np.float64) - op.output.type.zero_point
    real = (stored.astype(np.float64) - type.zero_point) * type.scale
    mean = real.mean(axis=1, keepdims=True) if op.centers else 0.0
    normal = (real - mean) / np.sqrt(np.square(real - mean).mean(axis=1, keepdims=True) + op.epsilon)
    spread = np.arange(type.elements).reshape(type.shape) % op.factors.type.elements
    factors, summands = (np.asarray(each.data, np.float64)[spread] for each in (op.factors, op.summands))
    expected = normal * factors * 2.0**-op.factor_bits + summands * 2.0**-10
    low, high = (limit - op.output.type.zero_point for limit in (op.output.type.min, op.output.type.max))
    assert np.abs(found - np.clip(expected, low, high)).max() <= _ALLOWED


def test_what_is_beyond_the_sums_is_refused() -> None:
    op = random_standardize(np.random.default_rng(0))
    shape = (1, 1 << 24, 1)
    input, output = (replace(tensor, type=replace(tensor.type, shape=shape)) for tensor in (op.input, op.output))
    with pytest.raises(ValueError, match="a mean of 16777216 elements, at most"):
        replace(op, input=input, output=output, factors=_one(op.factors), summands=_one(op.summands)).verify()
    with pytest.raises(ValueError, match="beyond any variance at this scale"):
        replace(op, epsilon=1e30).verify()


def test_factors_that_no_result_holds_are_refused() -> None:
    with pytest.raises(
        ValueError, match="factors up to 2e\\+12 and summands up to 0 steps of the result are too large"
    ):
        FixedAffine.of(np.array([2e12]), np.array([0.0]))


def _one(tensor: Tensor) -> Tensor:
    assert tensor.data is not None
    return replace(tensor, type=replace(tensor.type, shape=(1,)), data=tensor.data[:1])
