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
from tinygen.ops.quantize import flip_sign_bit

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


_ROWS = {"LOG_SOFTMAX": (1 / 16, 127), "L2_NORMALIZATION": (1 / 128, 0)}  # scale and zero point of int8 results


def _rows_model(
    name: str, type: str, shape: tuple[int, ...], zero_point: int, output_scale: float, **options: Any
) -> bytes:
    writer, offset = ModelWriter(), 128 if type == "uint8" else 0
    x = writer.tensor("x", shape, type, scale=0.05, zero_point=zero_point + offset)
    y = writer.tensor("y", shape, type, scale=output_scale, zero_point=_ROWS[name][1] + offset)
    writer.operator(name, [x], [y], **options)
    return writer.finish([x], [y])


@needs_litert
@pytest.mark.parametrize("name", _ROWS)
@pytest.mark.parametrize("zero_point", [-128, -5, 127])
def test_rows_of_uint8_are_litert_s(name: str, zero_point: int) -> None:
    model = _rows_model(name, "uint8", (40, 9), zero_point, _ROWS[name][0])
    values = np.random.default_rng(zero_point & 255).integers(0, 256, (40, 9)).astype(np.uint8)
    values[::2] = np.clip(values[::2], zero_point + 120, zero_point + 136)
    expected = run_reference(model, [values]).outputs[0]
    assert np.array_equal(evaluate(import_model(model), [flip_sign_bit(values)])[0], flip_sign_bit(expected))


@needs_litert
def test_quotients_of_uint8_are_litert_s() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(role, (16, 16), "uint8", scale=0.02, zero_point=120) for role in "xy")
    z = writer.tensor("z", (16, 16), "uint8", scale=0.02, zero_point=99)
    writer.operator("DIV", [x, y], [z], fused_activation_function=3)
    values: list[Array] = [np.arange(256, dtype=np.uint8).reshape(16, 16), np.full((16, 16), 77, np.uint8)]
    values[0][7, 6:11] = 200  # what is near 0 TFLite shifts by more bits than there are
    model = writer.finish([x, y], [z])
    expected = run_reference(model, values).outputs[0]
    computed = evaluate(import_model(model), [flip_sign_bit(value) for value in values])[0]
    assert np.array_equal(computed, flip_sign_bit(expected))


@pytest.mark.parametrize(
    ("name", "shape", "scale", "options", "message"),
    [
        ("LOG_SOFTMAX", (2, 3), 0.1, {}, "output 'y' must have scale 1/16 and zero point 127"),
        ("LOG_SOFTMAX", (2, 4096), 1 / 16, {}, "rows of 4096 elements, 1 to 4095 were expected"),
        ("L2_NORMALIZATION", (2, 3), 0.1, {}, "output 'y' must have scale 1/128 and zero point 0"),
        ("L2_NORMALIZATION", (1, 33026), 1 / 128, {}, "rows of 33026 elements, at most 33025 were expected"),
        (
            "L2_NORMALIZATION",
            (2, 3),
            1 / 128,
            {"fused_activation_function": 1},
            "has fused activation 1, which TFLite refuses too, none was expected",
        ),
    ],
)
def test_rows_that_are_refused(
    name: str, shape: tuple[int, ...], scale: float, options: dict[str, int], message: str
) -> None:
    with pytest.raises(UnsupportedModelError, match=message):
        import_model(_rows_model(name, "int8", shape, -128, scale, **options))


def _float_model(
    name: str, shape: tuple[int, ...], result: tuple[int, ...], axes: list[int], options: dict[str, Any]
) -> bytes:
    writer = ModelWriter()
    x, y = writer.tensor("x", shape, "float32"), writer.tensor("y", result, "float32")
    operands = [x, writer.tensor("axes", (len(axes),), "int32", data=axes)] if axes else [x]
    writer.operator(name, operands, [y], **options)
    return writer.finish([x], [y])


_LOCAL = "LOCAL_RESPONSE_NORMALIZATION"
_NUMBERS: dict[str, Any] = {"radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5}


@pytest.mark.parametrize(
    ("name", "shape", "result", "axes", "options", "message"),
    [
        ("REDUCE_PROD", (2, 3, 4), (4, 2), [1], {}, r"output has shape \[4, 2\], \[2, 1, 4\] was expected"),
        ("REDUCE_PROD", (2, 3), (2,), [2], {}, r"axes \[2\] of 2 dimensions, -2 to 1 were expected"),
        ("REDUCE_PROD", (0, 3), (3,), [0], {}, r"input has shape \[0, 3\], at least one element was expected"),
        (_LOCAL, (1, 1, 3, 0), (1, 1, 3, 0), [], _NUMBERS, r"input \[1, 1, 3, 0\], radius 1 and bias"),
        (_LOCAL, (2, 3, 4), (2, 3, 4), [], _NUMBERS, r"input \[2, 3, 4\], radius 1 and bias, alpha and beta \[1.0, 1"),
        (_LOCAL, (1, 1, 3, 4), (1, 1, 3, 4), [], {**_NUMBERS, "radius": -1}, "radius -1 and bias"),
        (_LOCAL, (1, 1, 3, 4), (1, 1, 3, 4), [], {**_NUMBERS, "beta": float("nan")}, r"beta \[1.0, 1.0, nan\]"),
        (_LOCAL, (1, 1, 3, 4), (1, 1, 3, 5), [], _NUMBERS, r"shape \[1, 1, 3, 5\]"),
    ],
)
def test_composites_of_float32_that_are_refused(
    name: str,
    shape: tuple[int, ...],
    result: tuple[int, ...],
    axes: list[int],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(UnsupportedModelError, match=message):
        import_model(_float_model(name, shape, result, axes, options))


def test_what_is_divided_by_zero_is_the_largest_or_smallest_output() -> None:
    writer = ModelWriter()
    x, y, z = (writer.tensor(role, (3,), scale=0.1, zero_point=3) for role in "xyz")
    writer.operator("DIV", [x, y], [z])
    values: list[Array] = [np.array([-4, 3, 9], np.int8), np.full((3,), 3, np.int8)]
    assert evaluate(import_model(writer.finish([x, y], [z])), values)[0].tolist() == [-128, 3, 127]


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
