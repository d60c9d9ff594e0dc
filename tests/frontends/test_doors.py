"""Models of PyTorch and Keras: converted where the package is there, a clear message where it is not."""

import sys
from pathlib import Path

import numpy as np
import pytest

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


@needs_torch
def test_pytorch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_NET)
    compiled = compile_model(tmp_path / "net.py:build_net", Options(allow_float=True, kernels=Kernels.PORTABLE))
    assert [type(op).__name__ for op in compiled.graph.ops if op.macs] == ["Conv2D", "FullyConnected"]
    assert validate(compiled, samples=1).exact
    with pytest.raises(UnsupportedModelError, match="has no function 'other'"):
        import_model(tmp_path / "net.py:other")


@needs_tensorflow
def test_keras(tmp_path: Path) -> None:
    layers = sys.modules["tensorflow"].keras.layers
    model = sys.modules["tensorflow"].keras.Sequential(
        [layers.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(5)]
    )
    model.save(tmp_path / "net.keras")
    compiled = compile_model(tmp_path / "net.keras", Options(allow_float=True, kernels=Kernels.PORTABLE))
    x = np.random.default_rng(0).normal(size=(1, 8, 8, 1)).astype(np.float32)
    assert np.allclose(compiled.execute([[x]]).outputs[0][0], model.predict(x), atol=1e-5)
