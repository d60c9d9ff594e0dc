"""The arithmetic at the boundary of a model against LiteRT: ties, signs, saturation, uint8."""

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.quantize import convert, dequantize, quantize
from tinygen.ops.rescale import Rescale

SCALES = [0.5, 1 / 3, 0.0123, 1 / 255, 1.0, 7.3]
ZERO_POINTS = [-128, -1, 0, 5, 127]


def int8_type(scale: float, zero_point: int, *shape: int) -> TensorType:
    """A quantized type."""
    return TensorType(DType.INT8, shape, Quant((float(np.float32(scale)),), (zero_point,)))


def real_values(scale: float) -> Array:
    """Ties, their neighbours in float32, zeros of both signs, random numbers, and numbers far out of range."""
    ties = (np.arange(-300, 301) / 2).astype(np.float32) * np.float32(scale)
    near = [np.nextafter(ties, np.float32(limit)) for limit in (-np.inf, np.inf)]
    random = np.random.default_rng(1).normal(0, 60 * scale, 2000)
    far = np.array([-0.0, 1e9 * scale, -1e9 * scale])
    return np.concatenate([ties, *near, random, far]).astype(np.float32)


def quantize_model(scale: float, zero_point: int, size: int) -> bytes:
    """QUANTIZE from float32."""
    writer = ModelWriter()
    x = writer.tensor("x", (size,), "float32")
    y = writer.tensor("y", (size,), scale=scale, zero_point=zero_point)
    writer.operator("QUANTIZE", [x], [y])
    return writer.finish([x], [y])


@needs_litert
@pytest.mark.parametrize("scale", SCALES)
def test_quantize(scale: float) -> None:
    values = real_values(scale)
    for zero_point in ZERO_POINTS:
        data = quantize_model(scale, zero_point, values.size)
        expected = run_reference(data, [values]).outputs[0]
        np.testing.assert_array_equal(evaluate(import_model(data), [values])[0], expected)


def test_quantize_where_litert_leaves_it_to_the_processor() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    assert quantize(values, int8_type(0.001, 7, 5)).tolist() == [7, 127, -128, 127, -128]


@needs_litert
@pytest.mark.parametrize("scale", SCALES)
def test_dequantize(scale: float) -> None:
    values = np.arange(-128, 128).astype(np.int8)
    for zero_point in ZERO_POINTS:
        writer = ModelWriter()
        x = writer.tensor("x", (256,), scale=scale, zero_point=zero_point)
        y = writer.tensor("y", (256,), "float32")
        writer.operator("DEQUANTIZE", [x], [y])
        expected = run_reference(writer.finish([x], [y]), [values]).outputs[0]
        np.testing.assert_array_equal(dequantize(values, int8_type(scale, zero_point, 256)), expected)


@needs_litert
@pytest.mark.parametrize(("source", "target"), [("int8", "uint8"), ("uint8", "int8")])
def test_rescale_changes_signedness(source: str, target: str) -> None:
    rng = np.random.default_rng(3)
    values = np.arange(256, dtype=np.uint8).view(source)
    lowest = {"int8": -128, "uint8": 0}
    flips = 0
    for case in range(40):
        writer = ModelWriter()
        shift = int(rng.integers(256))
        scales = [0.25, 0.25] if case % 2 else (2 ** rng.uniform(-4, 1, 2)).tolist()
        shifts = [shift, shift if case % 4 else int(rng.integers(256))]
        x = writer.tensor("x", (256,), source, scale=scales[0], zero_point=lowest[source] + shifts[0])
        y = writer.tensor("y", (256,), target, scale=scales[1], zero_point=lowest[target] + shifts[1])
        writer.operator("QUANTIZE", [x], [y])
        data = writer.finish([x], [y])
        graph = import_model(data)
        expected = run_reference(data, [values]).outputs[0]
        np.testing.assert_array_equal(evaluate(graph, [values])[0], expected)
        (op,) = graph.ops
        assert isinstance(op, Rescale)
        if op.flips_sign_bit:
            flips += 1
            np.testing.assert_array_equal(convert(values, op.input.type, op.output.type), expected)
    assert flips >= 20


def test_quantize_to_other_types_is_refused() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (4,), "float32")
    y = writer.tensor("y", (4,), "uint8", scale=0.5, zero_point=0)
    writer.operator("QUANTIZE", [x], [y])
    with pytest.raises(UnsupportedOperatorsError, match="output 'y' is ui8, i8 or i16 was expected"):
        import_model(writer.finish([x], [y]))
