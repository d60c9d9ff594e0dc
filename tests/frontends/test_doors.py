"""Models of PyTorch and Keras: converted where the package is there, a clear message where it is not."""

import io
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import onnx
import pytest

from tests.support.command_line import tinygen, tinygen_process
from tests.support.shared import shared_file
from tinygen import api
from tinygen.calib.model import load_float
from tinygen.errors import ToolError, UnsupportedModelError, UsageError
from tinygen.frontends import doors, import_model, keras, pytorch
from tinygen.frontends.doors import model_file
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.validate import validate

needs_torch = pytest.mark.skipif(
    pytorch.torch is None, reason="torch missing: .pt2 and model.py:function are not tested, only their messages"
)
needs_tensorflow = pytest.mark.skipif(
    keras.tensorflow is None, reason="tensorflow missing: .keras and SavedModels are not tested, only their messages"
)
needs_keras = pytest.mark.skipif(
    keras.keras is None, reason="keras missing: that Lambda layers are refused is not tested with real files"
)
_CONVERTERS = "tests.support.converters"
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


@pytest.mark.parametrize("named", ["net.py", "net.py:build_net"])
def test_python_code_does_not_run_unless_named_and_trusted(tmp_path: Path, named: str) -> None:
    code = tmp_path / "net.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UsageError, match=r"--trust"):
        import_model(tmp_path / named)
    assert not (tmp_path / "ran").exists()


def _saved_model(folder: Path) -> Path:
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"x")
    return folder


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("net.py:build_net", "it is Python"),
        ("net.pt2", "torch unpickles and evaluates parts of it"),
        ("saved", "a SavedModel is a program that TensorFlow runs"),
    ],
)
def test_formats_that_are_code_need_trust(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "net.py").write_text(_NET)
    (tmp_path / "net.pt2").write_bytes(b"x")
    _saved_model(tmp_path / "saved")
    message = (
        f"{name}: can run code of whoever made it ({why}), --trust was expected for such a file. Add it where you "
        "trust the file (trust=True in Python), or export the network to .onnx or .tflite."
    )
    with pytest.raises(UsageError) as caught:
        import_model(tmp_path / name)
    assert str(caught.value) == message
    for command in (
        ("inspect",),
        ("validate",),
        ("calibrate", "-o", tmp_path / "t.json", "--data", tmp_path / "d.npz"),
    ):
        ended = tinygen(command[0], tmp_path / name, *command[1:])
        assert (ended.code, ended.stderr) == (2, f"tinygen: {message}\n")


def test_trust_opens_the_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "_PYTHON", f"{_CONVERTERS}:built")
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 4)) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "net", values[:1], values[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), tmp_path / "relu.onnx")
    (tmp_path / "net.py").write_text(str(tmp_path / "relu.onnx"))
    named = f"{tmp_path}/net.py:any"
    for command in ("inspect", "run"):
        ended = tinygen(command, named, "-t", "host", "--trust", "--allow-float", "--kernels", "portable")
        assert ended.code == 0, ended.stderr
    assert api.compile(named, trust=True, allow_float=True, kernels="portable", target="host").report.name == "net"
    assert load_float(named, trust=True).graph.ops
    with pytest.raises(UsageError, match="--trust was expected"):
        api.compile(named, allow_float=True, target="host")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for name in ("none.py:build", "none.pt2", "none.keras"):
        with pytest.raises(UsageError, match="there is no such file"):
            import_model(tmp_path / name)


def test_messages_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch, "torch", None)
    with pytest.raises(ToolError, match=r"^torch: not installed, needed to read net\.pt2\. Run `pip install"):
        pytorch.load_program(tmp_path / "net.pt2", tmp_path / "out.onnx", trusts=True)
    with pytest.raises(ToolError, match=r"^torch: not installed, needed to read net\.py:f\. Run `pip install"):
        pytorch.export_built(None, "net.py:f", tmp_path / "out.onnx")


def test_messages_without_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras, "tensorflow", None)
    with pytest.raises(ToolError, match=r"^tensorflow: not installed, needed to read net\.h5\. Run `pip install"):
        keras.convert_keras(tmp_path / "net.h5", tmp_path / "out.tflite", trusts=False)


def test_an_old_keras_reads_nothing_that_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = {}

    def load_model(path: str, **given: bool) -> str:
        loaded.update(given)
        return path

    def version(text: str) -> None:
        fake = SimpleNamespace(__version__=text, models=SimpleNamespace(load_model=load_model))
        monkeypatch.setattr(keras, "keras", fake)

    for old in ("2.15.0", "3.9.2", "3.11.2"):
        version(old)
        with pytest.raises(ToolError, match=rf"^keras: is {old}, 3\.11\.3 or newer was expected, as older ones run"):
            keras.load_keras(tmp_path / "net.h5", trusts=False)
    assert not loaded
    for new, trusts in (("3.11.3", False), ("3.12.0", False), ("4.0", False), ("3.9.2", True)):
        version(new)
        assert keras.load_keras(tmp_path / "net.h5", trusts) == str(tmp_path / "net.h5")
        assert loaded == {"compile": False, "safe_mode": not trusts}


@pytest.mark.parametrize("name", ["net.pt", "net.pth"])
def test_weights_are_no_network(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(UnsupportedModelError, match=rf"^{name}: holds weights, or pickled code, which is not run; a"):
        import_model(tmp_path / name)


def test_conversions_are_kept_by_content_and_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "_TENSORFLOW", f"{_CONVERTERS}:copy")
    file = tmp_path / "net.h5"
    file.write_bytes(b"first")
    found = [model_file(file), model_file(file), model_file(file, trusts=True)]
    assert [one.read_bytes() for one in found] == [b"first\0", b"first\0", b"first\1"]
    assert (found[0] == found[1], found[0].name) == (True, "net.tflite")
    file.write_bytes(b"second")
    assert model_file(file).read_bytes() == b"second\0"
    kept = {path.name.removesuffix(".sha256") for path in (tmp_path / "cache").rglob("*.*") if path.is_file()}
    assert kept == {"net.tflite"}


@needs_torch
def test_s2_04_pytorch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_NET)
    compiled = compile_model(
        tmp_path / "net.py:build_net", Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True, target="host")
    )
    assert [type(op).__name__ for op in compiled.graph.ops if op.macs] == ["Conv2D", "FullyConnected"]
    assert validate(compiled, samples=1).exact
    with pytest.raises(UnsupportedModelError, match="has no function 'other'"):
        model_file(tmp_path / "net.py:other", trusts=True)


@needs_torch
def test_python_code_imports_its_neighbours_and_stdout_is_the_result_alone(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(_NET)
    (tmp_path / "net.py").write_text("from layers import build_net\nprint('hello')\n")
    cache = {"TINYGEN_CACHE": str(tmp_path / "cache")}
    ended = tinygen_process(
        "inspect", "net.py:build_net", "--trust", "--allow-float", "--json", cwd=tmp_path, environment=cache
    )
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
    compiled = compile_model(
        tmp_path / "net.pt2", Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True, target="host")
    )
    x = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    expected = net(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(compiled.execute([[x]]).outputs[0][0], expected, atol=1e-5)


@needs_torch
def test_damaged_programs(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(b"x")
    with pytest.raises(UnsupportedModelError, match=r"^net\.pt2: torch cannot export it \("):
        model_file(tmp_path / "net.pt2", trusts=True)


@needs_torch
def test_the_table_of_a_seeded_network_is_followed(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_NET.replace("    layers", "    torch.manual_seed(1)\n    layers"))
    np.savez(tmp_path / "data.npz", in0=np.random.default_rng(0).normal(size=(24, 1, 8, 8)).astype(np.float32))
    net, table = tmp_path / "net.py:build_net", tmp_path / "t.json"
    assert tinygen("calibrate", net, "--trust", "--data", tmp_path / "data.npz", "-o", table).code == 0
    assert tinygen("validate", net, "--trust", "--ctable", table, "--samples", "2", "-t", "host").code == 0


@needs_tensorflow
@pytest.mark.parametrize("name", ["net.keras", "net.h5", "saved"])
def test_s2_06_keras(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    layers = sys.modules["tensorflow"].keras.layers
    model = sys.modules["tensorflow"].keras.Sequential(
        [layers.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(5)]
    )
    model.export(tmp_path / name) if name == "saved" else model.save(tmp_path / name)
    capfd.readouterr()
    compiled = compile_model(
        tmp_path / name, Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True, target="host")
    )
    assert capfd.readouterr().out == ""
    x = np.random.default_rng(0).normal(size=(1, 8, 8, 1)).astype(np.float32)
    assert np.allclose(compiled.execute([[x]]).outputs[0][0], model.predict(x, verbose=0), atol=1e-5)


@needs_tensorflow
def test_damaged_keras_files(tmp_path: Path) -> None:
    (tmp_path / "net.keras").write_bytes(b"x")
    with pytest.raises(UnsupportedModelError, match=r"^net\.keras: TensorFlow cannot convert it \("):
        import_model(tmp_path / "net.keras")


@needs_torch
def test_programs_with_pickled_code_do_not_run_it(tmp_path: Path) -> None:
    """A program's example inputs and constants are pickled: torch reads tensors of them alone."""
    torch = sys.modules["torch"]
    (tmp_path / "net.py").write_text(_NET)
    net, examples = runpy.run_path(str(tmp_path / "net.py"))["build_net"]()
    torch.export.save(torch.export.export(net.eval(), examples), tmp_path / "good.pt2")
    hostile = io.BytesIO()
    torch.save(_Touch(tmp_path / "RAN"), hostile)
    changed = 0
    with ZipFile(tmp_path / "good.pt2") as good, ZipFile(tmp_path / "net.pt2", "w") as bad:
        for name in good.namelist():
            is_pickle = name.endswith(".pt")
            changed += is_pickle
            bad.writestr(name, hostile.getvalue() if is_pickle else good.read(name))
    assert changed
    with pytest.raises(UnsupportedModelError, match=r"^net\.pt2: torch cannot export it \("):
        model_file(tmp_path / "net.pt2", trusts=True)
    assert not (tmp_path / "RAN").exists()


class _Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.file,)


@needs_keras
@pytest.mark.parametrize("name", ["net.keras", "net.h5"])
def test_layers_of_python_code_do_not_run(tmp_path: Path, name: str) -> None:
    library = sys.modules["keras"]
    code = eval(f"lambda x: (open({str(tmp_path / 'RAN')!r}, 'w'), x)[1]")
    model = library.Sequential([library.layers.Input((4,)), library.layers.Lambda(code)])
    model.save(tmp_path / name)
    (tmp_path / "RAN").unlink(missing_ok=True)
    with pytest.raises(UsageError, match=rf"^{name}: has a layer that is Python code \(Lambda\), --trust was expected"):
        keras.load_keras(tmp_path / name, trusts=False)
    assert not (tmp_path / "RAN").exists()
    keras.load_keras(tmp_path / name, trusts=True)
    assert (tmp_path / "RAN").exists()
