"""TFLite operators that are read as several, and float functions, against LiteRT; ARG_MIN of int8 too."""

from typing import Any

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tflm import needs_tflm, run_tflm
from tinygen.errors import UnsupportedModelError
from tinygen.ir.types import Array

UNARY = ("CEIL", "COS", "FLOOR", "L2_NORMALIZATION", "LOG_SOFTMAX", "ROUND", "SIN")
BINARY = ("DIV", "FLOOR_DIV", "FLOOR_MOD", "POW")


LACKING = ("CEIL", "ROUND")  # LiteRT's reference kernels


def _assert_same(model: bytes, values: list[Array], optimized: bool = False) -> None:
    graph = import_model(model)
    computed, expected = evaluate(graph, values)[0], run_reference(model, values, optimized=optimized).outputs[0]
    assert (computed.dtype, computed.shape) == (expected.dtype, expected.shape)
    assert np.allclose(computed.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=1e-6)


def _numbers(seed: int, shape: tuple[int, ...], least: float = -8.0) -> Array:
    numbers: Array = np.random.default_rng(seed).uniform(least, 8.0, shape).astype(np.float32)
    return numbers


@needs_litert
@pytest.mark.parametrize("name", UNARY)
def test_functions_are_litert_s(name: str) -> None:
    for seed in range(5):
        writer, shape = ModelWriter(), (2, 3, 5)
        x, y = (writer.tensor(role, shape, "float32") for role in "xy")
        writer.operator(name, [x], [y])
        values = np.rint(_numbers(seed, shape) * 2) / 2 if seed == 0 else _numbers(seed, shape)  # halves
        _assert_same(writer.finish([x], [y]), [values.astype(np.float32)], name in LACKING)


@needs_litert
@pytest.mark.parametrize("name", BINARY)
def test_quotients_are_litert_s(name: str) -> None:
    for seed in range(5):
        writer, shapes = ModelWriter(), [(2, 3, 4), ((2, 3, 4), (4,), (1,))[seed % 3]]
        operands = [writer.tensor(f"x{n}", shape, "float32") for n, shape in enumerate(shapes)]
        y = writer.tensor("y", shapes[0], "float32")
        writer.operator(name, operands, [y])
        least = 0.1 if name == "POW" else -8.0
        _assert_same(writer.finish(operands, [y]), [_numbers(seed + n, shape, least) for n, shape in enumerate(shapes)])


@needs_litert
@pytest.mark.parametrize("count", [2, 3, 5])
def test_sums_of_many_are_litert_s(count: int) -> None:
    writer, shape = ModelWriter(), (2, 7)
    operands = [writer.tensor(f"x{n}", shape, "float32") for n in range(count)]
    y = writer.tensor("y", shape, "float32")
    writer.operator("ADD_N", operands, [y])
    _assert_same(writer.finish(operands, [y]), [_numbers(n, shape) for n in range(count)])


@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_the_first_smallest_is_litert_s(dtype: str) -> None:
    for seed in range(8):
        writer, axis = ModelWriter(), seed % 3
        options: dict[str, Any] = {"scale": 0.1, "zero_point": 3} if dtype == "int8" else {}
        x = writer.tensor("x", (3, 4, 5), dtype, **options)
        y = writer.tensor("y", tuple(n for at, n in enumerate((3, 4, 5)) if at != axis), "int32")
        writer.operator("ARG_MIN", [x, writer.tensor("axis", (), "int32", data=axis)], [y], output_type=2)
        low, high = ((-128, 128), (-2, 2))[seed % 2]
        values = np.random.default_rng(seed).integers(low, high, (3, 4, 5)).astype(dtype)
        _assert_same(writer.finish([x], [y]), [values])


@needs_litert
def test_weights_of_run_time_are_litert_s() -> None:
    for dtype, tolerance in (("int8", 1), ("float32", 1e-4)):  # LiteRT rounds once
        rng, writer = np.random.default_rng(3), ModelWriter()
        quantization: list[dict[str, Any]] = [
            {"scale": scale} if dtype == "int8" else {} for scale in (0.05, 0.02, 0.1)
        ]
        x = writer.tensor("x", (2, 3, 8), dtype, **quantization[0])
        w = writer.tensor("w", (5, 8), dtype, **quantization[1])
        y = writer.tensor("y", (6, 5), dtype, **quantization[2])
        writer.operator("FULLY_CONNECTED", [x, w, -1], [y])
        model = writer.finish([x, w], [y])
        values: list[Array] = [rng.integers(-128, 128, shape).astype(dtype) for shape in ((2, 3, 8), (5, 8))]
        computed, expected = evaluate(import_model(model), values)[0], run_reference(model, values).outputs[0]
        assert np.abs(computed.astype(np.float64) - expected.astype(np.float64)).max() <= tolerance


def test_integers_are_refused() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(role, (2, 3), scale=0.1) for role in "xy")
    writer.operator("LOG_SOFTMAX", [x], [y])
    with pytest.raises(UnsupportedModelError, match="output 'y' is i8, f32 was expected"):
        import_model(writer.finish([x], [y]))


def _sum_model(count: int, *zero_points: int) -> bytes:
    writer = ModelWriter()
    operands = [writer.tensor(f"x{n}", (2, 3), scale=0.1, zero_point=zero_points[n % 2]) for n in range(count)]
    y = writer.tensor("y", (2, 3), scale=0.3)
    writer.operator("ADD_N", operands, [y])
    return writer.finish(operands, [y])


@pytest.mark.parametrize(
    ("count", "zero_points", "message"),
    [
        (2, (3, 4), "'x1' differs in type or quantization from 'x0'"),
        (16, (-128, -128), "adds up 16 int8 inputs of zero point -128: more than 32 bits hold"),
        (1, (0, 0), "has one int8 input, two or more were expected"),
    ],
)
def test_stored_sums_refuse_what_does_not_fit(count: int, zero_points: tuple[int, int], message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=message):
        import_model(_sum_model(count, *zero_points))


@needs_tflm
def test_the_largest_sum_of_stored_integers_is_tflite_micro_s() -> None:
    model = _sum_model(15, -128, -128)
    for value in (-128, -37, 127):
        values: list[Array] = [np.full((2, 3), value, np.int8)] * 15
        assert np.array_equal(evaluate(import_model(model), values)[0], run_tflm(model, values, 1)[0])
