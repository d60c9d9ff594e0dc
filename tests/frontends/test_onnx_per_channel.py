"""Issue 16: batch normalization, and factors and summands per channel, in quantized models, against onnxruntime."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.onnx_runtime import precise_session
from tests.support.onnx_writer import OnnxWriter, Value
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.verify.reference import evaluate, outputs

pytest.importorskip("onnxruntime")
_CHANNELS = 6
_STEP = 0.04
_LAYERS = {
    "conv": ("Conv", (1, 4, 7, 5), (_CHANNELS, 4, 3, 3), {}),
    "depthwise": ("Conv", (1, _CHANNELS, 7, 5), (_CHANNELS, 1, 3, 3), {"group": _CHANNELS}),
    "conv-1d": ("Conv", (1, 4, 9), (_CHANNELS, 4, 3), {}),
    "gemm": ("Gemm", (40, 9), (_CHANNELS, 9), {"transB": 1}),
    "matmul": ("MatMul", (40, 9), (9, _CHANNELS), {}),
}


class _Model:
    """A network of int8 up to a layer's real result."""

    def __init__(self) -> None:
        self.writer = OnnxWriter()
        self.rng = np.random.default_rng(8)

    def real(self, *shape: int, low: float = -1, high: float = 1) -> Value:
        return self.writer.constant(self.rng.uniform(low, high, shape).astype(np.float32))

    def layer(self, kind: str, is_per_channel: bool, has_bias: bool) -> Value:
        operator, shape, weights, settings = _LAYERS[kind]
        axis = 1 if operator == "MatMul" else 0
        scales = self.rng.uniform(0.004, 0.01, _CHANNELS) if is_per_channel else 0.007
        stored = self.writer.weights(self.rng.integers(-127, 128, weights, np.int8), scales, axis)
        x = self.writer.requantized(self.writer.port(shape), 0.03, 5)
        bias = [self.real(_CHANNELS)] if has_bias and operator != "MatMul" else []
        return self.writer.node(operator, [x, stored, *bias], settings)

    def normalized(self, x: Value, *gains: float) -> Value:
        gain = self.rng.uniform(-1, 1, _CHANNELS)
        gain[: len(gains)] = gains
        numbers = [self.writer.constant(gain.astype(np.float32)), self.real(_CHANNELS), self.real(_CHANNELS)]
        return self.writer.node("BatchNormalization", [x, *numbers, self.real(_CHANNELS, low=0.5, high=2)])

    def checked(self, y: Value, path: Path) -> Graph:
        """The graph, whose results are within a step of onnxruntime's, and nearly all the same."""
        self.writer.output(self.writer.requantized(y, _STEP, -7))
        onnx.save(self.writer.model(), path)
        session = precise_session(path)
        port = session.get_inputs()[0]
        x = np.random.default_rng(2).uniform(-4, 4, port.shape).astype(np.float32)
        (expected,) = session.run(None, {port.name: x})
        graph = import_model(path)
        (found,) = outputs(graph, evaluate(graph, [x]))
        steps = np.rint((found - expected) / _STEP)
        assert len(np.unique(expected)) > 7
        assert np.abs(steps).max() <= 1
        assert np.count_nonzero(steps) <= max(1, 0.02 * steps.size)
        return graph


@pytest.mark.parametrize("has_bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("is_per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("kind", _LAYERS)
def test_issue16_batch_normalization_is_part_of_the_layer(
    kind: str, is_per_channel: bool, has_bias: bool, tmp_path: Path
) -> None:
    """With gains below 0, of 0, and so small that the layer's own scale would leave no room for the shift."""
    model = _Model()
    layer = model.layer(kind, is_per_channel, has_bias)
    graph = model.checked(model.writer.node("Relu", [model.normalized(layer, -0.6, 0.0, 1e-12)]), tmp_path / "m.onnx")
    assert sum(op.macs > 0 for op in graph.ops) == 1


@pytest.mark.parametrize("shape", [(4, _CHANNELS), (1, _CHANNELS, 9), (2, _CHANNELS, 5, 4)], ids=str)
def test_issue16_batch_normalization_of_stored_integers_is_a_layer(shape: tuple[int, ...], tmp_path: Path) -> None:
    """As quantizers leave it behind a QuantizeLinear, with parameters that are quantized too."""
    model = _Model()
    x = model.writer.requantized(model.writer.port(shape), 0.03, 5)
    gain = model.writer.weights(np.array([90, -127, 0, 3, 55, -60], np.int8), 0.01)
    numbers = [gain, model.real(_CHANNELS), model.real(_CHANNELS), model.real(_CHANNELS, low=0.5, high=2)]
    graph = model.checked(model.writer.node("BatchNormalization", [x, *numbers]), tmp_path / "m.onnx")
    assert any(isinstance(op, DepthwiseConv2D) for op in graph.ops)


@pytest.mark.parametrize("kind", ["conv", "matmul"])
def test_issue16_constants_behind_a_layer_are_part_of_it(kind: str, tmp_path: Path) -> None:
    """A factor for all channels, one for each, summands before and behind what they are taken from."""
    model = _Model()
    shape = (_CHANNELS, 1, 1) if kind == "conv" else (_CHANNELS,)
    y = model.writer.node("Mul", [model.layer(kind, True, True), model.real(*shape)])
    y = model.writer.node("Sub", [model.real(*shape), y])
    y = model.writer.node("Add", [model.normalized(y), model.real()])
    graph = model.checked(y, tmp_path / "m.onnx")
    assert sum(op.macs > 0 for op in graph.ops) == 1


def test_the_smallest_weight_has_no_negative(tmp_path: Path) -> None:
    model = _Model()
    x = model.writer.requantized(model.writer.port((3, 9)), 0.03, 5)
    stored = model.writer.weights(np.full((9, _CHANNELS), -128, np.int8), 0.01)
    y = model.normalized(model.writer.node("MatMul", [x, stored]), -1.0)
    model.writer.output(model.writer.requantized(y, _STEP, 0))
    onnx.save(model.writer.model(), tmp_path / "m.onnx")
    expected = "a weight is the smallest integer, in a channel whose factor is negative: one more was expected"
    with pytest.raises(UnsupportedModelError, match=expected):
        import_model(tmp_path / "m.onnx")
