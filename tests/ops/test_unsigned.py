"""Networks of uint8 against LiteRT's reference kernels: read as int8, stored values 128 lower, to the bit."""

from typing import Any

import numpy as np
import pytest
import tflite

from tests.support.litert import needs_litert, run_reference
from tests.support.operator_models import (
    BUILDERS,
    OperatorModel,
    random_model,
    random_scale,
    random_zero_point,
)
from tests.support.reference import evaluate, import_model
from tinygen.ir.types import Array, DType
from tinygen.ops.quantize import flip_sign_bit

CASES = 40
TOLERANCE = {"FULLY_CONNECTED": 1, "SUM": 1, "RESIZE_BILINEAR": 1}
"""LiteRT rounds the first once, adds in float, interpolates uint8 in float."""
LACKING = {"BATCH_MATMUL"}  # LiteRT's
UNARY = ("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "QUANTIZE", "RELU", "RELU6", "TANH")
BINARY = ("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB")
_FIXED = {"LOGISTIC": (1 / 256, 0), "TANH": (1 / 128, 128)}


def _assert_same(model: OperatorModel, name: str, seed: int) -> None:
    file = model.finish()
    expected = run_reference(file, model.values, optimized=name == "SUM").outputs[0]
    graph = import_model(file)
    assert all(tensor.type.dtype is not DType.UINT8 for tensor in graph.tensors if not tensor.is_constant)
    computed = evaluate(graph, [flip_sign_bit(values) for values in model.values])[0]
    if graph.outputs[0].is_converted:
        assert graph.outputs[0].external.dtype is DType.UINT8
        computed = flip_sign_bit(computed)
    assert (computed.dtype, computed.shape) == (expected.dtype, expected.shape), f"{name}, seed {seed}"
    worst = np.abs(computed.astype(np.int64) - expected.astype(np.int64)).max()
    assert worst <= TOLERANCE.get(name, 0), f"{name}, seed {seed}"


@needs_litert
@pytest.mark.parametrize("name", sorted(set(BUILDERS) - LACKING))
def test_uint8_is_litert_s(name: str) -> None:
    for seed in range(CASES):
        _assert_same(random_model(name, seed, always_bias=True, unsigned=True), name, seed)


@needs_litert
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_uint8_are_litert_s(name: str) -> None:
    for seed in range(8):
        model = OperatorModel(np.random.default_rng(seed), unsigned=True)
        options: dict[str, Any] = {"alpha": float(model.rng.uniform(0.01, 0.9))} if name == "LEAKY_RELU" else {}
        x = model.input(1, 256)
        model.values[0] = np.arange(256, dtype=np.uint8).reshape(1, 256)
        scale, zero_point = _FIXED.get(name, (random_scale(model.rng), random_zero_point(model.rng) + 128))
        y = model.output(1, 256, scale=scale, zero_point=zero_point - 128)
        model.writer.operator(name, [x], [y], **options)
        if name == "QUANTIZE":  # an operator that computes with uint8: conversions alone are those of int8 networks
            z = model.output(256, scale=scale, zero_point=zero_point - 128)
            model.writer.operator("RESHAPE", [y], [z], new_shape=(256,))
            model.outputs = [z]
        _assert_same(model, name, seed)


@needs_litert
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_of_uint8_is_litert_s(name: str) -> None:
    for seed in range(20):
        model = OperatorModel(np.random.default_rng(seed), unsigned=True)
        scale, zero_point = random_scale(model.rng), random_zero_point(model.rng)
        same = {"scale": scale, "zero_point": zero_point} if name in ("MAXIMUM", "MINIMUM") else {}
        first = model.input(2, 3, 5, 4, **same)  # type: ignore[arg-type]
        second = model.input(*((2, 3, 5, 4) if seed % 2 else (1, 1, 4)), **same)  # type: ignore[arg-type]
        y = model.output(2, 3, 5, 4, scale=scale if same else 0.6, zero_point=zero_point)
        model.writer.operator(name, [first, second], [y])
        _assert_same(model, name, seed)


@needs_litert
def test_concatenated_uint8_may_have_scales_of_their_own() -> None:
    for seed in range(20):
        model = OperatorModel(np.random.default_rng(seed), unsigned=True)
        parts = [model.input(1, 2, 256) for _ in range(3)]
        for values in model.values:
            values[:] = np.arange(256)
        y = model.output(1, 6, 256, scale=random_scale(model.rng))
        model.writer.operator("CONCATENATION", parts, [y], axis=1)
        _assert_same(model, "CONCATENATION", seed)


@needs_litert
@pytest.mark.parametrize("zero_point", [0, 100, 255])
def test_transposed_convolutions_of_uint8_are_litert_s(zero_point: int) -> None:
    """Weights of which some are farther from their zero point than int8 holds: of 0 and 255 by more than two int8."""
    for seed in range(6):
        model = OperatorModel(np.random.default_rng([seed, zero_point]), unsigned=True)
        x = model.input(1, 4, 3, 5, scale=0.5)
        size = model.constant((4,), "int32", np.array([1, 8, 6, 3]))
        stored = model.rng.choice([0, 255, int(model.rng.integers(256))], (3, 3, 2, 5))
        w = model.constant((3, 3, 2, 5), "uint8", stored, scale=0.02, zero_point=zero_point)
        y = model.output(1, 8, 6, 3, scale=2.5)
        options = {"padding": tflite.Padding.SAME, "stride_h": 2, "stride_w": 2}
        model.writer.operator("TRANSPOSE_CONV", [size, w, x], [y], **options)
        _assert_same(model, "TRANSPOSE_CONV", seed)


def test_weights_whose_differences_fit_lose_their_zero_point() -> None:
    rng = np.random.default_rng(0)

    def weights_of(data: Array) -> DType:
        model = OperatorModel(rng, unsigned=True)
        x = model.input(1, 4, scale=0.5)
        w = model.constant((2, 4), "uint8", data, scale=0.02, zero_point=100)
        y = model.output(1, 2, scale=0.5)
        model.writer.operator("FULLY_CONNECTED", [x, w], [y])
        return import_model(model.finish()).ops[0].operands[1].type.dtype

    assert weights_of(np.array([[0, 1, 227, 3], [4, 5, 6, 100]])) is DType.INT8
    assert weights_of(np.array([[0, 1, 228, 3], [4, 5, 6, 100]])) is DType.UINT8


@needs_litert
def test_uint8_that_only_becomes_float32_is_litert_s() -> None:
    model = OperatorModel(np.random.default_rng(0), unsigned=True)
    x = model.input(1, 4, 5, 3, scale=1 / 255, zero_point=-128)
    real = model.writer.tensor("real", (1, 4, 5, 3), "float32")
    model.writer.operator("DEQUANTIZE", [x], [real])
    model.writer.operator("COS", [real], [model.output(1, 4, 5, 3, scale=0, type="float32")])
    expected = run_reference(model.finish(), model.values).outputs[0]
    graph = import_model(model.finish())
    assert graph.inputs[0].external.dtype is DType.UINT8
    assert np.allclose(evaluate(graph, [flip_sign_bit(model.values[0])])[0], expected, atol=1e-6)
