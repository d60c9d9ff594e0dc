"""Operators that ONNX defines by others: which they are, how they are refused, what quantized ones are."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_writer import OnnxWriter
from tinygen.budget import BudgetError, Limit
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.frontends.onnx.registry import READERS, STANDARD_FUNCTIONS
from tinygen.passes import run
from tinygen.verify import reference

_FUNCTIONS: dict[str, dict[str, float]] = {
    "Celu": {"alpha": 0.7},
    "Shrink": {"lambd": 0.6, "bias": 0.2},
    "ThresholdedRelu": {"alpha": 0.8},
}


def test_none_has_a_reader_and_all_are_defined() -> None:
    assert STANDARD_FUNCTIONS.isdisjoint(READERS)
    for name in STANDARD_FUNCTIONS:
        schema = defs.get_schema(name)
        assert schema.has_function or schema.has_context_dependent_function  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "opset"), [(name, opset) for name in _FUNCTIONS for opset in (12, 13, 18, 22)] + [("Shrink", 9)]
)
def test_opsets(name: str, opset: int, tmp_path: Path) -> None:
    model = _model(name, opset, **_FUNCTIONS[name])
    file = tmp_path / "net.onnx"
    onnx.save(model, file)
    values = [np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 12)]
    graph = import_model(file)
    (found,) = reference.outputs(graph, reference.evaluate(graph, values))
    (expected,) = ReferenceEvaluator(model).run(None, {"x": values[0]})
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_quantized_ones_need_no_float(name: str, tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    x = writer.input((1, 256), 0.02, 3)
    writer.output(writer.requantized(writer.node(name, [x], _FUNCTIONS[name]), 0.025, -5))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    graph = run(import_model(file))
    assert not any(tensor.type.dtype.is_real for op in graph.ops for tensor in op.results)
    assert len(graph.ops) == 1 or name != "Celu"  # a function of one tensor is a table
    real = (0.02 * np.arange(-131, 125).reshape(1, 256)).astype(np.float32)
    (found,) = reference.outputs(graph, reference.evaluate(graph, [real]))
    (expected,) = ReferenceEvaluator(_model(name, 18, **_FUNCTIONS[name])).run(None, {"x": real})
    steps = np.clip(np.rint(np.asarray(expected, np.float64) / 0.025), -123, 132)
    off = np.abs(np.rint(np.asarray(found, np.float64) / 0.025) - steps)
    assert off.max() <= 1 and np.mean(off) < 0.05


def test_wrong_numbers_of_inputs_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("Attention", ["x"], ["y"])
    file = tmp_path / "net.onnx"
    onnx.save(_with(node, 24), file)
    with pytest.raises(UnsupportedModelError, match=r"net\.onnx: Attention has 1 inputs, 3 to 7 were expected"):
        import_model(file)


def test_what_they_stand_for_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygen.frontends.onnx.functions.NODES", Limit(3, "operators"))
    file = tmp_path / "net.onnx"
    onnx.save(_model("Celu", 22), file)
    with pytest.raises(BudgetError):
        import_model(file)


def _model(name: str, opset: int, **attributes: float) -> onnx.ModelProto:
    node = helper.make_node(name, ["x"], ["y"])
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return _with(node, opset)


def _with(node: onnx.NodeProto, opset: int) -> onnx.ModelProto:
    ports = [helper.make_tensor_value_info(port, TensorProto.FLOAT, [2, 12]) for port in ("x", "y")]
    graph = helper.make_graph([node], "net", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
