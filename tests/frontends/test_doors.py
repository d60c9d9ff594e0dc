"""Models of PyTorch and Keras: converted where the package is there, a clear message where it is not."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen, tinygen_process
from tests.support.shared import shared_file
from tinygen.errors import ToolError, UnsupportedModelError, UsageError
from tinygen.frontends import import_model, keras, pytorch
from tinygen.frontends.doors import model_file
from tinygen.pipeline import Kernels, Options, compile_model
from tinygen.verify.validate import validate

needs_torch = pytest.mark.skipif(
    pytorch.torch is None, reason="torch missing: .pt2 and model.py:function are not tested, only their messages"
)
needs_tensorflow = pytest.mark.skipif(
    keras.tensorflow is None, reason="tensorflow missing: .keras and SavedModels are not tested, only their messages"
)
_NET = """
import torch

def build_net():
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(144, 5)), (torch.zeros(1, 1, 8, 8),)
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))


def test_other_files_are_themselves() -> None:
    for name in ("models/open/mlonmcu_micro_kws_m_fp32.onnx", "models/open/tflm_hello_world_float.tflite"):
        assert model_file(shared_file(name)) == shared_file(name)


def test_python_code_does_not_run_unless_named(tmp_path: Path) -> None:
    code = tmp_path / "net.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UsageError, match=r"is Python code, which runs only where a function of it is named"):
        import_model(code)
    assert not (tmp_path / "ran").exists()


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for name in ("none.py:build", "none.pt2", "none.keras"):
        with pytest.raises(UsageError, match="there is no such file"):
            import_model(tmp_path / name)


def test_messages_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch, "torch", None)
    (tmp_path / "net.pt2").write_bytes(b"x")
    (tmp_path / "net.py").write_text(_NET)
    for name, named in (("net.pt2", "net.pt2"), ("net.py:build_net", "net.py:build_net")):
        with pytest.raises(ToolError, match=rf"^torch: not installed, needed to read {named}\. Run `pip install"):
            import_model(tmp_path / name)


def test_messages_without_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras, "tensorflow", None)
    (tmp_path / "net.keras").write_bytes(b"x")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"x")
    for name in ("net.keras", "saved"):
        with pytest.raises(ToolError, match=rf"^tensorflow: not installed, needed to read {name}\. Run `pip install"):
            import_model(tmp_path / name)


@pytest.mark.parametrize("name", ["net.pt", "net.pth"])
def test_weights_are_no_network(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(UnsupportedModelError, match=rf"^{name}: holds weights, or pickled code, which is not run; a"):
        import_model(tmp_path / name)


def test_a_conversion_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(_: Path, out: Path) -> None:
        out.write_bytes(b"half")
        raise ToolError("stopped")

    monkeypatch.setattr(pytorch, "load_program", half)
    (tmp_path / "net.pt2").write_bytes(b"x")
    for _ in range(2):
        with pytest.raises(ToolError, match="stopped"):
            import_model(tmp_path / "net.pt2")


@needs_torch
def test_pytorch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_NET)
    compiled = compile_model(tmp_path / "net.py:build_net", Options(allow_float=True, kernels=Kernels.PORTABLE))
    assert [type(op).__name__ for op in compiled.graph.ops if op.macs] == ["Conv2D", "FullyConnected"]
    assert validate(compiled, samples=1).exact
    with pytest.raises(UnsupportedModelError, match="has no function 'other'"):
        import_model(tmp_path / "net.py:other")


@needs_torch
def test_python_code_imports_its_neighbours_and_stdout_is_the_result_alone(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(_NET)
    (tmp_path / "net.py").write_text("from layers import build_net\nprint('hello')\n")
    cache = {"TINYGEN_CACHE": str(tmp_path / "cache")}
    ended = tinygen_process("inspect", "net.py:build_net", "--allow-float", "--json", cwd=tmp_path, environment=cache)
    assert ended.code == 0, ended.stderr
    assert ended.document["macs"] == 2016
    assert "hello" in ended.stderr
    assert "torchvision" not in ended.stderr


@needs_torch
@pytest.mark.parametrize("is_open", [False, True])
def test_exported_programs(tmp_path: Path, is_open: bool) -> None:
    torch = sys.modules["torch"]
    (tmp_path / "net.py").write_text(_NET)
    net, (example,) = runpy.run_path(str(tmp_path / "net.py"))["build_net"]()
    examples = (example.repeat(2, 1, 1, 1) if is_open else example,)
    shapes = ({0: torch.export.Dim("batch")},) if is_open else None
    torch.export.save(torch.export.export(net.eval(), examples, dynamic_shapes=shapes), tmp_path / "net.pt2")
    compiled = compile_model(tmp_path / "net.pt2", Options(allow_float=True, kernels=Kernels.PORTABLE))
    x = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    expected = net(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(compiled.execute([[x]]).outputs[0][0], expected, atol=1e-5)


@needs_torch
def test_damaged_programs(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(b"x")
    with pytest.raises(UnsupportedModelError, match=r"^net\.pt2: torch cannot export it \("):
        import_model(tmp_path / "net.pt2")


@needs_torch
def test_the_table_of_a_seeded_network_is_followed(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_NET.replace("    layers", "    torch.manual_seed(1)\n    layers"))
    np.savez(tmp_path / "data.npz", in0=np.random.default_rng(0).normal(size=(24, 1, 8, 8)).astype(np.float32))
    net, table = tmp_path / "net.py:build_net", tmp_path / "t.json"
    assert tinygen("calibrate", net, "--data", tmp_path / "data.npz", "-o", table).code == 0
    assert tinygen("validate", net, "--ctable", table, "--samples", "2").code == 0


@needs_tensorflow
@pytest.mark.parametrize("name", ["net.keras", "net.h5", "saved"])
def test_keras(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    layers = sys.modules["tensorflow"].keras.layers
    model = sys.modules["tensorflow"].keras.Sequential(
        [layers.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(5)]
    )
    model.export(tmp_path / name) if name == "saved" else model.save(tmp_path / name)
    capfd.readouterr()
    compiled = compile_model(tmp_path / name, Options(allow_float=True, kernels=Kernels.PORTABLE))
    assert capfd.readouterr().out == ""
    x = np.random.default_rng(0).normal(size=(1, 8, 8, 1)).astype(np.float32)
    assert np.allclose(compiled.execute([[x]]).outputs[0][0], model.predict(x, verbose=0), atol=1e-5)


@needs_tensorflow
def test_damaged_keras_files(tmp_path: Path) -> None:
    (tmp_path / "net.keras").write_bytes(b"x")
    with pytest.raises(UnsupportedModelError, match=r"^net\.keras: TensorFlow cannot convert it \("):
        import_model(tmp_path / "net.keras")
