"""Tables from the state dicts of fake-quantized PyTorch modules."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.onnx_writer import OnnxWriter
from tinygen.calib.model import load_float, quantized
from tinygen.frontends import pytorch
from tinygen.frontends.onnx.modules import modules_of_results
from tinygen.ir.types import Array
from tinygen.ops.quantize import dequantize
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.forward import NumpyForward

needs_torch = pytest.mark.skipif(pytorch.torch is None, reason="torch missing: .pt files of QAT are not imported")

_SCOPES = "pkg.torch.onnx.name_scopes"


def _exported(folder: Path, is_traced: bool) -> Path:
    """Two convolutions, the second in a container, named as PyTorch's exporters by tracing or by torch.export do."""
    writer, rng = OnnxWriter(), np.random.default_rng(0)
    x = writer.port((1, 2, 4, 4), name="x")
    names = ["stem.weight", "block.0.weight"] if not is_traced else ["onnx::Conv_1", "onnx::Conv_2"]
    filters = [writer.constant(rng.normal(size=(2, 2, 1, 1)).astype(np.float32), name) for name in names]
    first = writer.node("Relu", [writer.node("Conv", [x, filters[0]])])
    writer.output(writer.node("Conv", [first, filters[1]]))
    model = writer.model()
    scopes = [["stem"], ["act"], ["block", "block.0"]]
    for node, around in zip(model.graph.node, scopes, strict=True):
        if is_traced:
            node.name = "/".join(["", *around, node.op_type])
        else:
            node.metadata_props.add(key=_SCOPES, value=str(["", *around, node.op_type.lower()]))
    file = folder / "net.onnx"
    file.write_bytes(model.SerializeToString())
    return file


def _state(zero_points: tuple[int, int, int], least: float) -> dict[str, Array]:
    """Of a QuantStub, a fused convolution and rectifier, and a convolution."""
    state: dict[str, Array] = {}
    for number, (module, zero_point) in enumerate(zip(("quant", "stem", "block.0"), zero_points, strict=True)):
        state[f"{module}.activation_post_process.scale"] = np.array([0.02 + 0.01 * number], np.float32)
        state[f"{module}.activation_post_process.zero_point"] = np.array([zero_point], np.int32)
        state[f"{module}.activation_post_process.activation_post_process.min_val"] = np.array(least, np.float32)
    for module, scales in (("stem", [0.01, 0.02]), ("block.0", [0.03])):
        state[f"{module}.weight_fake_quant.scale"] = np.array(scales, np.float32)
        state[f"{module}.weight_fake_quant.zero_point"] = np.zeros(len(scales), np.int32)
        state[f"{module}.weight_fake_quant.activation_post_process.min_val"] = np.full(len(scales), -1, np.float32)
    return state


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("is_signed", [False, True])
def test_modules_are_found_by_what_exporters_write(tmp_path: Path, is_traced: bool, is_signed: bool) -> None:
    model, source, table = _exported(tmp_path, is_traced), tmp_path / "state.npz", tmp_path / "t.json"
    zero_points = (0, 0, 0) if is_signed else (128, 3, 100)
    np.savez(source, **_state(zero_points, -1.0 if is_signed else 0.0))  # type: ignore[arg-type]
    ended = tinygen("ctable", "import", source, "--model", model, "-o", table)
    assert ended.code == 0, ended.stderr
    entries = read_ctable(table).tensors
    offset = 0 if is_signed else 128
    activations = [(e.scale[0], e.zero_point) for e in entries.values() if e.kind == "activation" and e.locked]
    expected = [(0.02, zero_points[0] - offset), (0.03, zero_points[1] - offset), (0.04, zero_points[2] - offset)]
    assert activations == [(float(np.float32(scale)), (zero_point,)) for scale, zero_point in expected]
    weights = [e.scale for e in entries.values() if e.kind == "weights" and e.locked]
    assert weights == [tuple(np.array(scales, np.float32).tolist()) for scales in ([0.01, 0.02], [0.03])]
    assert tinygen("validate", model, "--ctable", table, "--samples", "2", "-t", "host").code == 0


def test_s0_19_weights_that_were_trained_for_fewer_bits(tmp_path: Path) -> None:
    """Integers of the table are those of fake quantization: divided, rounded, and cut off at both ends."""
    model, source, table = _exported(tmp_path, True), tmp_path / "state.npz", tmp_path / "t.json"
    state = _state((128, 3, 100), 0.0)
    scales = {"stem": np.array([0.01, 0.05], np.float32), "block.0": np.array([0.2], np.float32)}
    np.savez(source, **(state | {f"{name}.weight_fake_quant.scale": scale for name, scale in scales.items()}))  # type: ignore[arg-type]
    ended = tinygen("ctable", "import", source, "--model", model, "-o", table, "--weights", "int4")
    assert ended.code == 0, ended.stderr
    found = read_ctable(table)
    float_model = load_float(model)
    stored = [op.filters.weights.data for op in quantized(float_model, found).ops if op.filters is not None]
    real = [op.filters.weights.data for op in float_model.graph.ops if op.filters is not None]
    for own, whole, scale in zip(stored, real, scales.values(), strict=True):
        assert own is not None and whole is not None
        wanted = np.clip(np.rint(whole.astype(np.float64) / scale.reshape(-1, 1, 1, 1)), -7, 7)
        np.testing.assert_array_equal(own, wanted)
        assert np.abs(wanted).max() == 7 or len(scale) == 1
    assert {e.dtype.value for e in found.tensors.values() if e.kind == "weights"} == {"int4"}
    assert tinygen("validate", model, "--ctable", table, "--samples", "2", "-t", "host").code == 0
    wrong = tinygen("ctable", "import", source, "--model", model, "-o", table, "--activations", "int16")
    assert (wrong.code, "ranges of other tools are of int8 activations" in wrong.stderr) == (2, True)


def test_names_of_modules(tmp_path: Path) -> None:
    expected = {"t0": ("stem",), "t1": ("act",), "t2": ("block.0",)}
    for is_traced in (False, True):
        assert modules_of_results(_exported(tmp_path, is_traced)) == expected


def test_numbered_ranges_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "fx.npz"
    np.savez(source, **{f"activation_post_process_{n}.scale": np.array([0.1]) for n in range(3)})  # type: ignore[arg-type]
    ended = tinygen("ctable", "import", source, "--model", _exported(tmp_path, True), "-o", tmp_path / "t")
    assert ended.code == 2
    assert "its ranges are numbered, as of an FX graph, and name no module; export QDQ ONNX of it" in ended.stderr


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch, "torch", None)
    (tmp_path / "qat.pt").write_bytes(b"x")
    ended = tinygen("ctable", "import", tmp_path / "qat.pt", "--model", _exported(tmp_path, True), "-o", tmp_path / "t")
    assert ended.code == 6
    assert "torch: not installed, needed to read qat.pt. Run `pip install tinygen[torch]`." in ended.stderr


_NET = """
import torch
import torch.ao.quantization as aq


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.conv, self.bn, self.relu = torch.nn.Conv2d(1, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU()
        self.block = torch.nn.Sequential(torch.nn.Conv2d(6, 6, 3, padding=1, groups=6))
        self.fc = torch.nn.Linear(216, 5)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        return self.dequant(self.fc(torch.flatten(self.block(x), 1)))


def build_net():
    torch.manual_seed(0)
    net = Net()
    net.bn.running_mean.uniform_(-1, 1)
    net.bn.running_var.uniform_(0.5, 2)
    return net, (torch.zeros(1, 1, 8, 8),)
"""


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_quantization_aware_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The integers of the imported table compute what the fake-quantized module does."""
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    torch = sys.modules["torch"]
    aq = pytest.importorskip("torch.ao.quantization")
    (tmp_path / "net.py").write_text(_NET)
    scope: dict[str, object] = {}
    exec(_NET, scope)
    net, _ = scope["build_net"]()  # type: ignore[operator]
    aq.fuse_modules_qat(net.train(), [["conv", "bn", "relu"]], inplace=True)
    net.qconfig = aq.get_default_qat_qconfig("fbgemm")
    aq.prepare_qat(net, inplace=True)
    x = torch.randn(64, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    net.eval()  # batch normalization as it was exported; observers follow the data all the same
    for _ in range(3):
        net(x)
    net.apply(aq.disable_observer)
    expected = net(x).detach().numpy()
    torch.save(net.state_dict(), tmp_path / "qat.pt")
    table = tmp_path / "t.json"
    model = tmp_path / "net.py:build_net"
    ended = tinygen("ctable", "import", tmp_path / "qat.pt", "--model", model, "--trust", "-o", table, "--json")
    assert ended.code == 0, ended.stderr
    assert ended.document["violations"] == []
    assert ended.document["locked"] == 7  # four results and three weights
    graph = quantized(load_float(model, trust=True), read_ctable(table))
    output = graph.output_tensors[0]
    stored = NumpyForward(graph, [output.name]).run([x.numpy()])[output.name]
    difference = np.abs(dequantize(stored, output.type) - expected) / output.type.scale
    assert difference.max() < 4.5
    assert difference.mean() < 0.5
