"""Means taken off and divided by deviations, in integers: against real arithmetic, and as C over random layers."""

from dataclasses import replace

import numpy as np
import pytest

from tinygen.ir.graph import Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.standardize import FixedAffine, Standardize

_ALLOWED = 0.5 + 2**-7


def _random(rng: np.random.Generator) -> Standardize:
    dtype = DType.INT8 if rng.random() < 0.5 else DType.INT16
    outer, size, inner = (int(rng.choice([1, 2, 3, 7, 33])) for _ in range(3))
    shape, channels = (outer, size, inner), size * inner if rng.random() < 0.5 else inner
    points = [int(rng.integers(-128, 128)) if dtype is DType.INT8 else 0 for _ in range(2)]
    bits = 0 if dtype is DType.INT8 else 8
    scales = [float(np.float32(10.0 ** rng.uniform(-4, 1) * 2.0**-bits)) for _ in range(2)]
    input, output = (
        Tensor(name, TensorType(dtype, shape, Quant((scale,), (point,))))
        for name, scale, point in zip("xy", scales, points, strict=True)
    )
    gain = scales[1] * 2.0 ** rng.uniform(0, 12)
    affine = FixedAffine.of(
        rng.uniform(-gain, gain, channels) / scales[1], rng.uniform(-gain, gain, channels) / scales[1]
    )
    return Standardize(
        name="y",
        source=Source("m", 0, "n"),
        input=input,
        factors=Tensor("f", TensorType(DType.INT32, (channels,)), affine.factors),
        summands=Tensor("s", TensorType(DType.INT32, (channels,)), affine.summands),
        output=output,
        axes=(1,),
        channel_step=1,
        factor_bits=affine.bits,
        epsilon=float(10.0 ** rng.uniform(-12, 0)),
        centers=bool(rng.integers(2)),
    )


@pytest.mark.parametrize("seed", range(60))
def test_results_are_within_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    op = _random(rng)
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
    op = _random(np.random.default_rng(0))
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
