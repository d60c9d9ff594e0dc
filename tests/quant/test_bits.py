"""Stored values of one to sixteen bits: their number, their error, and their way through memory."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinygen.ir.packing import pack, unpack
from tinygen.ir.types import DType, Float32Array, TensorType
from tinygen.ops.quantize import dequantize, stored
from tinygen.quant.ctable import Storage
from tinygen.quant.scheme import RealRange, Scheme, affine
from tinygen.quant.stored_weights import along_axis, stored_weights
from tinygen.quant.weight_scales import weight_quant

ACTIVATIONS = [Storage(f"int{bits}") for bits in range(2, 17)]
WEIGHTS = [Storage(f"int{bits}") for bits in range(1, 17)]
BOUNDS = st.floats(-100, 100, allow_nan=False, width=32)
SCHEMES = st.sampled_from(Scheme)


def _type(storage: Storage, low: float, high: float, scheme: Scheme) -> TensorType:
    dtype = storage.dtype
    return TensorType(dtype, (1,), affine(RealRange(low, high), dtype, scheme, storage.bits_in(dtype)))


@given(st.sampled_from(ACTIVATIONS), BOUNDS, BOUNDS, SCHEMES)
def test_s0_31_every_stored_value_comes_back(storage: Storage, low: float, high: float, scheme: Scheme) -> None:
    type = _type(storage, min(low, high), max(low, high), scheme)
    assert (type.min, type.max) == (-(2 ** (storage.bits - 1)), 2 ** (storage.bits - 1) - 1)
    values = np.arange(type.min, type.max + 1).astype(type.dtype.numpy)
    assert type.quant is not None
    assert values.size == 2**storage.bits
    assert np.array_equal(stored(dequantize(values, type), type.quant, type.dtype), values)


@given(st.sampled_from(ACTIVATIONS), BOUNDS, BOUNDS, SCHEMES, st.integers(0, 2**31))
@example(Storage.INT15, 3.3819542498951724e-37, 3.3819542498951724e-37, Scheme.ASYMMETRIC, 0)
def test_the_error_is_at_most_half_a_step(storage: Storage, low: float, high: float, scheme: Scheme, seed: int) -> None:
    low, high = sorted((low, high))
    type = _type(storage, low, high, scheme)
    least, most = (type.scale * (bound - type.zero_point) for bound in (type.min, type.max))
    values = low + (high - low) * np.random.default_rng(seed).random(200)
    assert type.quant is not None
    found = dequantize(stored(values, type.quant, type.dtype), type).astype(np.float64)
    within = (values >= least) & (values <= most)
    slack = type.scale * (0.5 + 1e-6) + 1e-5 * max(abs(least), abs(most)) * 2.0**-8
    assert (np.abs(found - values)[within] <= slack).all()
    missed = np.maximum(least - values, values - most)
    assert missed.max() <= type.scale * (0.5 if scheme is Scheme.ASYMMETRIC else 1) + slack
    assert (np.abs(found - values)[~within] <= missed[~within] + slack).all()


@pytest.mark.parametrize("storage", WEIGHTS)
def test_weights_use_their_bits_and_no_more(storage: Storage) -> None:
    weights: Float32Array = np.random.default_rng(storage.bits).normal(0, 0.3, (6, 3, 3, 40)).astype(np.float32)
    dtype = storage.weight_dtype
    quant = weight_quant(weights, dtype, 0, Scheme.SYMMETRIC, storage.bits_in(dtype))
    integers = stored_weights(weights, quant, (), dtype)
    most = 2 ** (storage.bits - 1) - 1 if storage.bits > 1 else 1
    assert np.abs(integers.astype(np.int32)).max() == most
    if storage.bits == 1:
        assert set(np.unique(integers)) == {-1, 1}
    errors = np.abs(integers * along_axis(quant, 4) - weights)
    scales = np.broadcast_to(along_axis(quant, 4), weights.shape)
    inner = np.abs(weights) <= most * scales
    if storage.bits > 1:
        assert (errors[inner] <= scales[inner] * 0.5001).all()
    if storage.bits >= 8:
        assert inner.mean() > 0.99
    largest = np.abs(weights).max(axis=(1, 2, 3), keepdims=True) / most
    widest = np.clip(np.rint(weights / largest), -most, most) * largest
    assert ((errors**2).sum(axis=(1, 2, 3)) <= ((widest - weights) ** 2).sum(axis=(1, 2, 3)) * 1.001).all()
    if dtype.is_narrow:
        assert np.array_equal(unpack(pack(integers, dtype), dtype, weights.shape), integers)


@given(st.integers(2, 15), st.integers(0, 2**31))
def test_more_bits_lose_less(bits: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 1, 4000)
    errors = []
    for storage in (Storage(f"int{bits}"), Storage(f"int{bits + 1}")):
        type = _type(storage, values.min(), values.max(), Scheme.ASYMMETRIC)
        assert type.quant is not None
        found = dequantize(stored(values, type.quant, type.dtype), type).astype(np.float64)
        errors.append(float(((found - values) ** 2).mean()))
    assert errors[1] < errors[0] * 0.5


@pytest.mark.parametrize(
    ("bits", "dtype", "weight_dtype"),
    [
        (1, DType.SIGNS, DType.INT1), (2, DType.INT8, DType.INT2), (3, DType.INT8, DType.INT4),
        (4, DType.INT8, DType.INT4), (5, DType.INT8, DType.INT8), (8, DType.INT8, DType.INT8),
        (9, DType.INT16, DType.INT16), (16, DType.INT16, DType.INT16),
    ],
)  # fmt: skip
def test_elements_are_the_next_that_there_are(bits: int, dtype: DType, weight_dtype: DType) -> None:
    storage = Storage(f"int{bits}")
    assert (storage.dtype, storage.weight_dtype) == (dtype, weight_dtype)
    assert storage.bits_in(dtype) == (None if bits == dtype.bits else bits)
