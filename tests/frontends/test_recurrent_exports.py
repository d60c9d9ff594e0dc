"""Recurrent layers as PyTorch and Keras export them: ONNX files in the form of exporters, exporters and converters."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import Attribute, OnnxWriter
from tests.support.tools import requires_host_cc
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import keras, pytorch
from tinygen.ir.types import Float32Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model

STEPS, INPUTS, UNITS, CLASSES = 7, 6, 5, 3
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

needs_torch = pytest.mark.skipif(
    pytorch.torch is None, reason="torch missing: its exporter of recurrent layers is not tried, only the form it has"
)
needs_tensorflow = pytest.mark.skipif(
    keras.tensorflow is None, reason="tensorflow missing: recurrent layers of Keras are not converted"
)


def _written(operator: str, is_bidirectional: bool, cells: int = UNITS) -> bytes:
    """A layer with batches first as the TorchScript exporter of PyTorch 2.13 writes it, and a Linear behind its last
    element: initial states are zeros of a shape that is computed, and directions are put side by side."""
    rng = np.random.default_rng(GATES[operator])
    model = OnnxWriter(opset=20)
    gates, ways = GATES[operator], 1 + is_bidirectional

    def number(*values: int) -> str:
        return model.constant(np.array(values, np.int64))

    def random(*shape: int) -> str:
        return model.constant(rng.normal(0, 0.5, shape).astype(np.float32))

    def zeros(size: int) -> str:
        batches = model.node("Gather", [model.node("Shape", [x]), model.constant(np.array(1, np.int64))])
        parts = [number(ways), model.node("Unsqueeze", [batches, number(0)]), number(size)]
        zero = model.constant(np.zeros((1, 1, 1), np.float32))
        return model.node("Expand", [zero, model.node("Concat", parts, {"axis": 0})])

    x = model.node("Transpose", [model.port((1, STEPS, INPUTS))], {"perm": [1, 0, 2]})
    weights = [random(ways, gates * UNITS, INPUTS), random(ways, gates * UNITS, UNITS), random(ways, 2 * gates * UNITS)]
    states = [zeros(UNITS), *([zeros(cells)] if operator == "LSTM" else [])]
    attributes: dict[str, Attribute] = {"hidden_size": UNITS}
    if is_bidirectional:
        attributes["direction"] = "bidirectional"
    if operator == "GRU":
        attributes["linear_before_reset"] = 1
    if operator == "RNN":
        attributes["activations"] = ["Tanh"] * ways
    y = model.node(operator, [x, *weights, "", *states], attributes, count=1 + len(states))
    if is_bidirectional:
        turned = model.node("Transpose", [y], {"perm": [0, 2, 1, 3]})
        y = model.node("Reshape", [turned, number(0, 0, -1)])
    else:
        y = model.node("Squeeze", [y, number(1)])
    last = model.constant(np.array(-1, np.int64))
    y = model.node("Gather", [model.node("Transpose", [y], {"perm": [1, 0, 2]}), last], {"axis": 1})
    model.output(model.node("Gemm", [y, random(CLASSES, ways * UNITS), random(CLASSES)], {"transB": 1}))
    return model.finish()


def _input() -> Float32Array:
    return np.random.default_rng(5).normal(0, 1, (1, STEPS, INPUTS)).astype(np.float32)


def _run(model: Path | str) -> Float32Array:
    compiled = compile_model(
        Path(model), Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True, target="host")
    )
    ((output,),) = compiled.execute([[_input()]]).outputs
    return np.asarray(output, np.float32)


@needs_onnxruntime
@requires_host_cc
@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize("operator", GATES)
def test_item_17_form_of_pytorch(operator: str, is_bidirectional: bool, tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(_written(operator, is_bidirectional))
    (expected,) = run_onnxruntime(file, [_input()])
    assert np.allclose(_run(file), expected, rtol=1e-4, atol=1e-5)


def test_item_17_projections_are_refused(tmp_path: Path) -> None:
    """PyTorch's exporter leaves them out of the weights, and keeps the cell's size alone."""
    file = tmp_path / "net.onnx"
    file.write_bytes(_written("LSTM", is_bidirectional=False, cells=2 * UNITS))
    with pytest.raises(
        UnsupportedOperatorsError,
        match=r"initial_c has 10 elements where hidden states have 5: that is a projection \(PyTorch's proj_size\)",
    ):
        _run(file)


_NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.OPERATOR(6, 5, batch_first=True, OPTIONS)
        with torch.no_grad():
            outputs = self.layer(torch.zeros(1, 7, 6))[0].shape[-1]
        self.dense = torch.nn.Linear(outputs, 3)

    def forward(self, x):
        return self.dense(self.layer(x)[0][:, -1])

def build_net():
    return Net(), (torch.zeros(1, 7, 6),)
"""


_NET_OF_STATES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.OPERATOR(6, 5, OPTIONS)

    def forward(self, x, h, c=None):
        y, last = self.layer(x, h if c is None else (h, c))
        return (y, last) if c is None else (y, *last)

def build_net():
    net = Net()
    ways = net.layer.num_layers * (1 + net.layer.bidirectional)
    count = 1 + isinstance(net.layer, torch.nn.LSTM)
    states = [torch.zeros(ways, 1, 5) for _ in range(count)]  # one for both would be one input
    return net, (torch.zeros(7, 1, 6), *states)
"""


def _source(folder: Path, operator: str, options: str) -> Path:
    file = folder / "net.py"
    file.write_text(_NET.replace("OPERATOR", operator).replace("OPTIONS", options))
    return file


@needs_torch
@requires_host_cc
@pytest.mark.parametrize("options", ["", "bidirectional=True", "num_layers=2, bias=False"])
@pytest.mark.parametrize("operator", GATES)
def test_item_17_exporter_of_pytorch(
    operator: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the door makes of a network gives what torch gives."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    file = _source(tmp_path, operator, options)
    torch = sys.modules["torch"]
    net, _ = runpy.run_path(str(file))["build_net"]()
    expected = net.eval()(torch.from_numpy(_input())).detach().numpy()
    assert np.allclose(_run(f"{file}:build_net"), expected, rtol=1e-4, atol=1e-5)


@needs_torch
@requires_host_cc
@pytest.mark.parametrize("options", ["", "num_layers=2, bidirectional=True"])
@pytest.mark.parametrize("operator", GATES)
def test_item_17_exporter_of_pytorch_and_initial_states(
    operator: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given with each call, and given back: both are ports of the network."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "net.py"
    file.write_text(_NET_OF_STATES.replace("OPERATOR", operator).replace("OPTIONS", options))
    torch = sys.modules["torch"]
    net, given = runpy.run_path(str(file))["build_net"]()
    rng = np.random.default_rng(6)
    inputs = [rng.normal(0, 0.7, tuple(each.shape)).astype(np.float32) for each in given]
    expected = net.eval()(*map(torch.from_numpy, inputs))
    compiled = compile_model(Path(f"{file}:build_net"), Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True))
    (outputs,) = compiled.execute([inputs]).outputs
    for output, right in zip(outputs, expected, strict=True):
        assert np.allclose(np.asarray(output, np.float32), right.detach().numpy(), rtol=1e-4, atol=1e-5)


@needs_torch
def test_item_17_exporter_of_pytorch_and_projections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    file = _source(tmp_path, "LSTM", "proj_size=2")
    with pytest.raises(UnsupportedOperatorsError, match=r"PyTorch's proj_size"):
        _run(f"{file}:build_net")


_LAYERS = {
    "LSTM": lambda layers: [layers.LSTM(UNITS)],
    "LSTM of all steps": lambda layers: [layers.LSTM(UNITS, return_sequences=True), layers.LSTM(UNITS)],
    "LSTM backwards": lambda layers: [layers.LSTM(UNITS, go_backwards=True)],
    "LSTM unrolled": lambda layers: [layers.LSTM(UNITS, unroll=True)],
    "LSTM both ways": lambda layers: [layers.Bidirectional(layers.LSTM(UNITS))],
    "GRU": lambda layers: [layers.GRU(UNITS)],
    "GRU with the reset before": lambda layers: [layers.GRU(UNITS, reset_after=False)],
    "GRU both ways": lambda layers: [layers.Bidirectional(layers.GRU(UNITS))],
    "SimpleRNN": lambda layers: [layers.SimpleRNN(UNITS)],
}


@needs_tensorflow
@requires_host_cc
@pytest.mark.parametrize("name", _LAYERS)
def test_item_17_converter_of_keras(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the door makes of a saved network gives what Keras gives."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    library = sys.modules["tensorflow"].keras
    library.utils.set_random_seed(1)
    inputs, dense = library.layers.Input((STEPS, INPUTS)), library.layers.Dense(CLASSES)
    net = library.Sequential([inputs, *_LAYERS[name](library.layers), dense])
    net.save(tmp_path / "net.keras")
    expected = net.predict(_input(), verbose=0)
    assert np.allclose(_run(tmp_path / "net.keras"), expected, rtol=1e-4, atol=1e-5)
