"""Inputs that have one value each: the network is that of the constant, branches that depend on it are decided."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tinygen.budget import BudgetError
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling
from tinygen.option import from_written
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.onnxruntime import OnnxRuntime
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(1, 6)


def _by_rate(folder: Path) -> Path:
    """x tanh where `rate` is 16000, else x sigmoid; scaled by `gain`, an array."""
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(operator, ["x"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 6])],
        )
        for name, operator in (("then", "Tanh"), ("else", "Sigmoid"))
    }
    nodes = [
        helper.make_node("Equal", ["rate", "wide"], ["is_wide"]),
        helper.make_node("If", ["is_wide"], ["f"], **branches),
        helper.make_node("Mul", ["f", "gain"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, type, shape)
        for name, type, shape in (
            ("x", TensorProto.FLOAT, [1, 6]),
            ("rate", TensorProto.INT64, []),
            ("gain", TensorProto.FLOAT, ["n"]),
        )
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 6])]
    graph = helper.make_graph(
        nodes, "g", inputs, outputs, [helper.make_tensor("wide", TensorProto.INT64, [], [16_000])]
    )
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@needs_onnxruntime
@pytest.mark.parametrize(("rate", "gain"), [(16_000, 0.5), (8_000, 3)])
def test_it_computes_what_the_file_does_with_that_value(rate: int, gain: float, tmp_path: Path) -> None:
    path = _by_rate(tmp_path)
    expected = run_onnxruntime(path, [_X, np.array(rate), np.array([gain], np.float32)])[0]
    spelling = from_written(Spelling, {"freeze": [f"rate={rate}", f"gain={gain}"], "dim": ["n=1"]})
    assert spelling.frozen == {"rate": rate, "gain": gain}
    options = Options(target="host", kernels=Kernels.PORTABLE, allow_float=True, spelling=spelling)
    compiled = compile_model(path, options)
    assert [port.name for port in compiled.imported.inputs] == ["x"]
    assert not any(op.subgraphs for op in compiled.imported.ops), "the branch is decided"
    found = validate(compiled, [[_X]], samples=1)
    assert (found.exact, found.oracle) == (True, Oracle.ONNXRUNTIME)
    real = np.tanh(_X) if rate == 16_000 else 1 / (1 + np.exp(-_X))
    assert np.allclose(expected, gain * real, atol=1e-6)


@needs_onnxruntime
@pytest.mark.parametrize("inside", [("inside0", "inside1"), ("inside", "inside")], ids=["others", "the same"])
def test_what_decided_branches_compute_is_compared(inside: tuple[str, str], tmp_path: Path) -> None:
    """Two conditions, one behind the other; what is inside has a name of its own if each name is there once."""
    writer = OnnxWriter()
    value, rate = writer.port([1, 6]), writer.port([], np.int64)
    condition = writer.node("Cast", [rate], {"to": TensorProto.BOOL})
    for number, name in enumerate(inside):
        made = helper.make_tensor(f"two {name}", TensorProto.FLOAT, [1], [2.0])
        inner = [
            helper.make_node("Tanh", [value], [name]),
            helper.make_node("Add", [name, made.name], [f"given {name}"]),
        ]
        output = helper.make_tensor_value_info(f"given {name}", TensorProto.FLOAT, [1, 6])
        branch = helper.make_graph(inner, "branch", [], [output], [made])
        value = f"f{number}"
        writer.nodes.append(helper.make_node("If", [condition], [value], then_branch=branch, else_branch=branch))
    writer.output(value)
    path = tmp_path / "m.onnx"
    path.write_bytes(writer.finish())
    spelling = Spelling(frozen={rate: 1}, allows_float=True)
    found = OnnxRuntime(path, spelling).run([_X])
    assert [name in found.tensors for name in inside] == [inside[0] != inside[1]] * 2
    assert np.allclose(found.tensors.get("inside0", np.tanh(_X)), np.tanh(_X), atol=1e-6)
    assert np.allclose(found.outputs[0], np.tanh(np.tanh(_X) + 2) + 2, atol=1e-6)
    options = Options(target="host", kernels=Kernels.PORTABLE, allow_float=True, spelling=spelling)
    assert validate(compile_model(path, options), [[_X]], samples=1).exact


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        ({"rat": 1}, r"--freeze: m\.onnx has no input 'rat', one of 'x', 'rate', 'gain' was expected\."),
        ({"rate": 0.5}, r"--freeze: 0\.5 for input 'rate' of m\.onnx, a number of int64 was expected\."),
        ({"rate": 2**63}, "--freeze: 9223372036854775808 for input 'rate' of m.onnx, a number of int64 was expected."),
        ({"x": 1e39}, r"--freeze: 1e\+39 for input 'x' of m\.onnx, a number of float32 was expected\."),
        ({"x": 1, "rate": 1, "gain": 1}, r"--freeze: leaves m\.onnx no input, one was expected\. Leave one"),
    ],
)
def test_values_that_do_not_fit(frozen: dict[str, float], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        import_model(_by_rate(tmp_path), Spelling(frozen=frozen, dims={"n": 1}))


def test_sizes_stay_bounded(tmp_path: Path) -> None:
    """A constant is as large as the file says that the input is."""
    for shape, error in (([1 << 20, 1 << 20], UnsupportedModelError), ([1, 1 << 25], BudgetError)):
        writer = OnnxWriter()
        writer.output(writer.node("Add", [writer.port([1]), writer.port(shape)]))
        path = tmp_path / "m.onnx"
        path.write_bytes(writer.finish())
        with pytest.raises(error, match=r"m\.onnx, input 'x1': "):
            import_model(path, Spelling(frozen={"x1": 1}))


@pytest.mark.parametrize("text", ["x", "x=", "=3", "x=1,2", "x=a", "x=nan", "x=inf", "x=1e999", "x=" + "9" * 400])
def test_texts_that_are_no_values(text: str) -> None:
    with pytest.raises(UsageError, match=r"--freeze: is '.*', a name and a number as in sr=16000 were expected\."):
        from_written(Spelling, {"freeze": [text]})


def test_two_values() -> None:
    with pytest.raises(UsageError, match=r"--freeze: names 'x' with two values, one was expected\. Leave one of"):
        from_written(Spelling, {"freeze": ["x=1", "x=2"]})
