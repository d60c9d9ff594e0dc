"""Roundings that are permitted: what is correct is not called wrong, what is wrong still is, and both are named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.litert import needs_litert
from tests.support.models import model_file
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.graph import Values
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.transpose import Transpose
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.comparison import Rounding, Side
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_BATCH, _FEATURES, _UNITS = 2, 64, 10
_RELU = 1
_SHAPES: Mapping[str, tuple[int, ...]] = {
    "FULLY_CONNECTED": (_UNITS, _FEATURES),
    "CONV_2D": (6, 3, 3, 4),
    "DEPTHWISE_CONV_2D": (1, 3, 3, 4),
}

Quantize = Callable[[int], float | Sequence[float]]  # scales for that many channels


def _alike(_: int) -> float:
    return 0.01


def _of_channels(count: int) -> Sequence[float]:
    return [0.01 + 0.001 * channel for channel in range(count)]


def _stored(*shape: int) -> Array:
    return np.random.default_rng(4).integers(-127, 128, shape)


def _layer(writer: ModelWriter, x: int, kind: str, scales: Quantize, **options: bool | int) -> int:
    """A layer of int8 weights on float32 activations."""
    name, shape = f"{kind}{x}", _SHAPES[kind]
    axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
    outputs = shape[axis]
    weights = writer.tensor(f"{name}/weights", shape, scale=scales(outputs), axis=axis, data=_stored(*shape))
    bias = np.linspace(-1, 1, outputs).astype(np.float32)
    operands = [x, weights, writer.tensor(f"{name}/bias", (outputs,), "float32", data=bias)]
    result = (_BATCH, outputs) if kind == "FULLY_CONNECTED" else (_BATCH, 8, 8, outputs)
    y = writer.tensor(name, result, "float32")
    version = {"FULLY_CONNECTED": 9, "CONV_2D": 5, "DEPTHWISE_CONV_2D": 6}[kind]
    writer.operator(kind, operands, [y], version=version, **options)  # type: ignore[arg-type]
    return y


def _hybrid(folder: Path, kind: str, scales: Quantize, **options: bool | int) -> Path:
    writer = ModelWriter()
    x = writer.tensor("x", (_BATCH, _FEATURES) if kind == "FULLY_CONNECTED" else (_BATCH, 8, 8, 4), "float32")
    path = folder / "hybrid.tflite"
    path.write_bytes(writer.finish([x], [_layer(writer, x, kind, scales, **options)]))
    return path


def _compiled(model: Path) -> Compiled:
    return compile_model(model, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host"))


_WINDOW = {"stride_h": 1, "stride_w": 1}
HYBRID = [
    pytest.param("FULLY_CONNECTED", _alike, {}, id="symmetric"),
    pytest.param("FULLY_CONNECTED", _alike, {"asymmetric_quantize_inputs": True}, id="with-zero-point"),
    pytest.param("FULLY_CONNECTED", _of_channels, {"fused_activation_function": _RELU}, id="per-channel"),
    pytest.param("CONV_2D", _alike, _WINDOW, id="convolution"),
    pytest.param("CONV_2D", _of_channels, _WINDOW, id="convolution-per-channel"),
    pytest.param("DEPTHWISE_CONV_2D", _of_channels, _WINDOW | {"depth_multiplier": 1}, id="depthwise"),
]


@needs_litert
@pytest.mark.parametrize(("kind", "scales", "options"), HYBRID)
def test_activations_quantized_at_run_time(
    kind: str, scales: Quantize, options: dict[str, bool | int], tmp_path: Path
) -> None:
    """Exact without a permission; a single weight that is one step off in what LiteRT is given is found."""
    path = _hybrid(tmp_path, kind, scales, **options)
    compiled = _compiled(path)
    found = validate(compiled, samples=3)
    assert (found.exact, found.mismatches, found.permitted) == (True, 0, ())
    weights = _stored(*_SHAPES[kind]).astype(np.int8)
    other = weights.copy()
    other.flat[5] += 1
    data = path.read_bytes()
    assert data.count(weights.tobytes()) == 1
    wrong = tmp_path / "wrong.tflite"
    wrong.write_bytes(data.replace(weights.tobytes(), other.tobytes()))
    missed = validate(replace(compiled, source=wrong), samples=3)
    assert not missed.exact and missed.first_mismatch is not None
    assert (missed.first_mismatch.operator, missed.first_mismatch.side) == (kind, Side.ORACLE)


@needs_litert
def test_hybrid_layers_in_a_row(tmp_path: Path) -> None:
    """Each is compared from LiteRT's own input, however far the roundings have gone by then."""
    writer = ModelWriter()
    x = writer.tensor("x", (_BATCH, 8, 8, 4), "float32")
    y = x
    for _ in range(4):
        y = _layer(writer, y, "DEPTHWISE_CONV_2D", _of_channels, **_WINDOW, depth_multiplier=1)
    path = tmp_path / "chain.tflite"
    path.write_bytes(writer.finish([x], [_layer(writer, y, "CONV_2D", _alike, **_WINDOW)]))
    found = validate(_compiled(path), samples=2)
    assert found.exact and not found.permitted
    ended = tinygen("validate", path, "--samples", "2", "--json", "-t", "host")
    assert ended.document["exact"] and ended.document["permitted"] == []


def _cancelling(terms: int) -> Float32Array:
    """Weights whose products with numbers about 1 cancel."""
    weights = np.random.default_rng(5).uniform(0.5, 1, (2, terms // 2)).astype(np.float32)
    weights[1] = -weights[0]
    return weights.T.reshape(1, terms)


def _long_sum(folder: Path, weights: Float32Array) -> Path:
    """A sum of one output, and an operator that does nothing to it."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, weights.size), "float32")
    stored = writer.tensor("weights", weights.shape, "float32", data=weights)
    y, z = (writer.tensor(name, (1, 1), "float32") for name in "yz")
    writer.operator("FULLY_CONNECTED", [x, stored, -1], [y])
    writer.operator("RELU_N1_TO_1", [y], [z])
    path = folder / "sum.tflite"
    path.write_bytes(writer.finish([x], [z]))
    return path


@needs_litert
def test_tolerance_grows_with_the_length_of_a_sum(tmp_path: Path) -> None:
    """What is left of 40,000 products that cancel differs by much more than a part of itself, in any order."""
    weights = _cancelling(40_000)
    compiled = _compiled(_long_sum(tmp_path, weights))
    random = np.random.default_rng(6)
    samples = [[np.float32(1) + random.uniform(0, 1e-5, (1, weights.size)).astype(np.float32)] for _ in range(5)]
    assert validate(compiled, samples).exact
    assert validate(compiled, samples, against=Oracle.SIMULATOR).exact


@needs_litert
def test_a_wrong_term_of_a_long_sum_is_found(tmp_path: Path) -> None:
    """LiteRT is given one weight of 2,000 that is off by an eighth; then the generated C is."""
    weights = _cancelling(2_000)
    path = _long_sum(tmp_path, weights)
    compiled = _compiled(path)
    ones = [[np.ones((1, weights.size), np.float32)]]
    other = weights.copy()
    other[0, 7] += 0.125
    wrong = tmp_path / "wrong.tflite"
    wrong.write_bytes(path.read_bytes().replace(weights.tobytes(), other.tobytes()))
    assert not validate(replace(compiled, source=wrong), ones).exact
    found = validate(replace(_compiled(wrong), imported=compiled.imported), ones, against=Oracle.SIMULATOR)
    assert not found.exact and found.first_mismatch is not None
    assert (found.first_mismatch.operator, found.first_mismatch.side) == ("FULLY_CONNECTED", Side.TARGET)


@needs_litert
def test_numbers_that_are_only_moved_are_equal_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a sum in float32, which has a tolerance; the last bit is found on both sides."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 3, 5), "float32")
    y, z = writer.tensor("y", (1, 3, 1), "float32"), writer.tensor("z", (1, 1, 3), "float32")
    axes = writer.tensor("axes", (1,), "int32", data=[2])
    order = writer.tensor("order", (3,), "int32", data=[0, 2, 1])
    turned = writer.tensor("turned", (1, 5, 3), "float32")
    writer.operator("TRANSPOSE", [x, order], [turned])
    writer.operator("MEAN", [x, axes], [y], keep_dims=True)
    writer.operator("TRANSPOSE", [y, order], [z])
    path = tmp_path / "turned.tflite"
    path.write_bytes(writer.finish([x], [turned, z]))
    assert validate(_compiled(path), samples=2).exact
    evaluate = Transpose.evaluate

    def wrong(op: Transpose, values: Values) -> tuple[Array, ...]:
        (result,) = evaluate(op, values)
        return (np.nextafter(result, np.float32(np.inf)),)

    compiled = _compiled(path)
    monkeypatch.setattr(Transpose, "evaluate", wrong)
    found = validate(compiled, samples=2)
    assert not found.exact and found.first_mismatch is not None
    assert found.first_mismatch.operator == "TRANSPOSE"


@needs_litert
def test_fully_connected_layers_of_int8() -> None:
    """Where a difference of 1 LSB is no mismatch, the layer says so, and why."""
    compiled = compile_model(model_file("ad01_int8"), Options(kernels=Kernels.PORTABLE, target="host"))
    found = validate(compiled, samples=3)
    assert found.exact and found.max_abs_diff == 1
    assert {(each.operator, each.rounding) for each in found.permitted} == {("FULLY_CONNECTED", Rounding.ONCE)}
    assert not validate(compiled, samples=3, against=Oracle.SIMULATOR).permitted


@needs_onnxruntime
def test_onnxruntime_requantizes_in_float(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    writer = OnnxWriter()
    image = writer.input([1, 3, 12, 12], 0.05, 3)
    weights = writer.weights(random.integers(-90, 90, (16, 3, 3, 3)).astype(np.int8), 0.01)
    writer.output(writer.requantized(writer.node("Conv", [image, weights]), 0.0437, -5))
    path = tmp_path / "conv.onnx"
    path.write_bytes(writer.finish())
    found = validate(compile_model(path, Options(kernels=Kernels.PORTABLE, target="host")), samples=20)
    assert found.exact
    assert bool(found.permitted) == (found.max_abs_diff > 0)
    assert {each.rounding for each in found.permitted} <= {Rounding.IN_FLOAT}


@needs_litert
def test_a_mean_of_equal_numbers(tmp_path: Path) -> None:
    """They are rounded to the same side each time: 0.01 % of the mean of 10,000 tenths."""
    writer = ModelWriter()
    x, axes = writer.tensor("x", (1, 100, 100, 1), "float32"), writer.tensor("axes", (2,), "int32", data=[1, 2])
    y = writer.tensor("y", (1, 1), "float32")
    writer.operator("MEAN", [x, axes], [y])
    path = tmp_path / "mean.tflite"
    path.write_bytes(writer.finish([x], [y]))
    compiled = _compiled(path)
    assert validate(compiled, [[np.full((1, 100, 100, 1), 0.1, np.float32)]], samples=1).exact
