"""Issue 16: operators on stored integers, between QLinear operators, and limits of them, as onnxruntime's."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.onnx_qoperators import MICROSOFT, Integers
from tests.support.onnx_writer import OnnxWriter, Value
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling
from tinygen.verify.reference import evaluate, outputs
from tinygen.verify.unsigned_weights import make_weights_unsigned

ort = pytest.importorskip("onnxruntime")
Build = Callable[[OnnxWriter, Value, type[np.generic]], Value]


def _whole(writer: OnnxWriter, *numbers: int) -> Value:
    return writer.constant(np.array(numbers, np.int64))


def _resize(mode: str, transformation: str) -> Build:
    def build(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
        scales = writer.constant(np.array([1, 1, 2, 2], np.float32))
        empty = writer.constant(np.zeros(0, np.float32))
        settings = {"mode": mode, "coordinate_transformation_mode": transformation, "nearest_mode": "floor"}
        return writer.node("Resize", [x, empty, scales], settings)

    return build


def _split(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
    whole = writer.node("Split", [x, _whole(writer, 1, 2)], {"axis": 1}, count=2)
    return writer.node("Transpose", [whole], {"perm": [0, 2, 1, 3]})


def _split_off_nothing(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
    return writer.node("Split", [x, _whole(writer, 3, 0)], {"axis": 1}, count=2)


def _slice(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
    return writer.node("Slice", [x, _whole(writer, 4), _whole(writer, 0), _whole(writer, 3), _whole(writer, -2)])


def _pad(has_value: bool) -> Build:
    def build(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:
        value = [writer.constant(np.array(77, dtype))] if has_value else []
        return writer.node("Pad", [x, _whole(writer, 0, 0, 1, 0, 0, 0, 0, 2), *value])

    return build


def _gather(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
    return writer.node("Gather", [x, _whole(writer, 2, 0, 2)], {"axis": 1})


def _clip(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:
    low, high = (60, 190) if dtype is np.uint8 else (-8, 7)
    return writer.node("Clip", [x, writer.constant(np.array(low, dtype)), writer.constant(np.array(high, dtype))])


def _pool(writer: OnnxWriter, x: Value, dtype: type[np.generic]) -> Value:  # noqa: ARG001 - one for both
    return writer.node("MaxPool", [x], {"kernel_shape": [2, 2]})


_BUILDS: dict[str, Build] = {
    "nearest": _resize("nearest", "asymmetric"),
    "linear": _resize("linear", "half_pixel"),
    "split": _split,
    "split-off-nothing": _split_off_nothing,
    "slice": _slice,
    "pad": _pad(has_value=True),
    "pad-zero": _pad(has_value=False),
    "gather": _gather,
    "clip": _clip,
    "max-pool": _pool,
}


def _check(model: onnx.ModelProto, path: Path, shape: tuple[int, ...], allowed: float, is_real: bool = False) -> None:
    """Within `allowed` of onnxruntime."""
    onnx.save(model, path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    make_weights_unsigned(model)
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(4).uniform(-4, 4, shape).astype(np.float32)
    (expected,) = session.run(None, {session.get_inputs()[0].name: x})
    graph = import_model(path, Spelling(allows_float=is_real))
    (found,) = outputs(graph, evaluate(graph, [x]))
    assert found.shape == expected.shape
    assert np.abs(found.astype(np.float64) - expected).max() <= allowed


@pytest.mark.parametrize("is_real", [False, True], ids=["quantized", "mixed"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("kind", _BUILDS)
def test_issue16_stored_integers(kind: str, dtype: type[np.generic], is_real: bool, tmp_path: Path) -> None:
    """Integers alone, and where an operator without QuantizeLinear lets the network compute with float32."""
    model = Integers(3, dtype)
    writer, (x, *parameters) = model.writer, model.input(1, 3, 6, 4)
    real = writer.node("DequantizeLinear", [_BUILDS[kind](writer, x, dtype), *parameters])
    writer.output(writer.node("Erf", [real]) if is_real else real)
    step = 0.03 if kind == "linear" else 0.0  # onnxruntime cuts off what tinygen rounds
    _check(writer.model(), tmp_path / "m.onnx", (1, 3, 6, 4), step * 1.2 + 1e-5 * is_real, is_real)


def test_issue16_limits_behind_quantize_are_brevitas_s_narrow_integers(tmp_path: Path) -> None:
    """QuantizeLinear, Clip, DequantizeLinear: of 4 bits at run time, and of constant weights."""
    writer = OnnxWriter()

    def narrow(value: Value, scale: float) -> Value:
        parameters = writer.scaling(scale, 0)
        stored = writer.node("QuantizeLinear", [value, *parameters])
        limits = [writer.constant(np.array(limit, np.int8)) for limit in (-8, 7)]
        return writer.node("DequantizeLinear", [writer.node("Clip", [stored, *limits]), *parameters])

    weights = np.random.default_rng(1).normal(0, 1, (5, 3, 2, 2)).astype(np.float32)
    y = writer.node("Conv", [narrow(writer.port((1, 3, 6, 4)), 0.25), narrow(writer.constant(weights), 0.2)])
    writer.output(narrow(y, 0.37))
    _check(writer.model(), tmp_path / "m.onnx", (1, 3, 6, 4), 0.371)  # a step


def test_numbers_without_axes_are_constants_of_mixed_models(tmp_path: Path) -> None:
    """DequantizeLinear of one number, as quantizers make of attention's factor."""
    model = Integers(5, np.int8)
    writer, (x, *parameters) = model.writer, model.input(1, 6)
    factor = writer.weights(np.array(100, np.int8), 0.004)
    writer.output(writer.node("Erf", [writer.node("Mul", [writer.node("DequantizeLinear", [x, *parameters]), factor])]))
    _check(writer.model(), tmp_path / "m.onnx", (1, 6), 1e-5, is_real=True)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["conv", "gemm"])
def test_biases_of_stored_integers_are_in_the_scale_of_sums(kind: str, alpha: float, tmp_path: Path) -> None:
    """Where the network computes with float32: their integers alone are no real numbers."""
    model, shape = Integers(7, np.uint8), (1, 3, 6, 4) if kind == "conv" else (4, 9)
    x, y = model.input(*shape), model.scaling(0.05)
    if kind == "conv":
        inputs = [*x, *model.weights(5, 3, 2, 2, channels=5), *y, model.bias(5)]
        made = model.writer.node("QLinearConv", inputs)
    else:
        inputs = [*x, *model.weights(5, 9), model.bias(5), *y]
        made = model.writer.node("QGemm", inputs, {"transB": 1, "alpha": alpha}, domain=MICROSOFT)
    model.writer.output(model.writer.node("Erf", [model.writer.node("DequantizeLinear", [made, *y])]))
    _check(model.writer.model(), tmp_path / "m.onnx", shape, 0.06, is_real=True)
