"""--stop-at: networks that end at tensors of their files."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.float_models import float_classifier
from tests.support.litert import needs_litert
from tests.support.models import model_file
from tests.support.onnx_writer import OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling, ends_from_text
from tinygen.ir.types import DType
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.verify.validate import validate


def _float_file(folder: Path) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(float_classifier())
    return path


def test_the_rest_of_a_network_is_left_out(tmp_path: Path) -> None:
    whole = import_model(_float_file(tmp_path))
    graph = import_model(_float_file(tmp_path), Spelling(stop_at=("branch", "total")))
    assert [port.name for port in graph.outputs] == ["branch", "total"]
    assert [port.name for port in graph.inputs] == [port.name for port in whole.inputs]
    assert [op.name for op in graph.ops] == [op.name for op in whole.ops[:5]]


@needs_litert
@pytest.mark.parametrize("stop_at", [("branch",), ("pooled", "stem")])
def test_float_outputs_are_litert_s(stop_at: tuple[str, ...], tmp_path: Path) -> None:
    options = Options(allow_float=True, spelling=Spelling(stop_at=stop_at), target="host")
    found = validate(compile_model(_float_file(tmp_path), options), samples=2)
    assert found.exact


@needs_litert
def test_inner_tensors_of_int8_networks_are_outputs() -> None:
    path = model_file("kws_ref_model")
    inner = [op.results[0].name for op in import_model(path).ops][-3]
    compiled = compile_model(path, Options(spelling=Spelling(stop_at=(inner,)), target="host"))
    assert [port.name for port in compiled.schedule.graph.outputs] == [inner]
    assert validate(compiled, samples=2).exact


def test_tensors_that_nothing_computes(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        import_model(_float_file(tmp_path), Spelling(stop_at=("brnch",)))
    assert str(error.value) == (
        "--stop-at: no operator of net.tflite computes a tensor 'brnch'. Name one, such as 'branch'."
    )


def _with_tail(folder: Path, length: int = 3) -> Path:
    """A few operators, of which two give what post-processing reads."""
    writer = ModelWriter()
    x = boxes = writer.tensor("x", (1, 4, 4, 2), scale=0.1)
    for number in range(length):
        x, boxes = boxes, writer.tensor(f"boxes{number}", (1, 4, 4, 2), scale=0.1)
        writer.operator("RELU", [x], [boxes])
    classes = writer.tensor("classes", (1, 32), scale=0.1)
    writer.operator("RESHAPE", [x], [classes], new_shape=(1, 32))
    results = [writer.tensor(f"y{number}", (1, 10), "float32") for number in range(4)]
    writer.operator("CUSTOM", [boxes, classes], results, custom_code="TFLite_Detection_PostProcess")
    path = folder / "net.tflite"
    path.write_bytes(writer.finish([0], results))
    return path


def test_unwanted_tails_are_refused_with_where_to_end(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError) as error:
        import_model(_with_tail(tmp_path))
    assert str(error.value) == (
        "net.tflite: 1 operator cannot be compiled. `tinygen supported-ops` lists what can. --stop-at boxes2,classes "
        "ends the network before that.\n"
        "  operator 4 (CUSTOM:TFLite_Detection_PostProcess 'y0'): tinygen has no such operator."
    )
    graph = import_model(_with_tail(tmp_path), Spelling(stop_at=("boxes2", "classes")))
    assert [port.name for port in graph.outputs] == ["boxes2", "classes"]


def test_half_of_a_network_is_no_tail(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError) as error:
        import_model(_with_tail(tmp_path, length=1))
    assert "--stop-at" not in str(error.value)


def test_tails_of_onnx_networks_that_do_not_depend_on_inputs(tmp_path: Path) -> None:
    """The number of boxes is a constant that a node gives."""
    writer = OnnxWriter()
    x = writer.port((1, 4, 4))
    for operator in ("Relu", "Neg", "Exp", "Abs", "Floor", "Sqrt"):
        x = writer.node(operator, [x])
    most = writer.node("Constant", [], {"value_ints": [5]})
    writer.output(writer.node("NonMaxSuppression", [x, writer.node("Sigmoid", [x]), most]), np.int64)
    path = tmp_path / "net.onnx"
    path.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError) as error:
        import_model(path, Spelling(allows_float=True))
    assert "lists what can. --stop-at t5,t7 ends the network before that.\n" in str(error.value)


def test_names_are_given_with_commas() -> None:
    assert ends_from_text(("a,b", "c", "a")) == ("a", "b", "c")
    with pytest.raises(UsageError, match="--stop-at: is 'a,,b', names of tensors with commas between them"):
        ends_from_text(("a,,b",))


def _quantized(folder: Path, operator: str = "Sigmoid") -> Path:
    writer = OnnxWriter()
    x = writer.requantized(writer.port((1, 3, 5, 5)), 0.05, 3)
    first = writer.node("Relu", [x])
    second = writer.requantized(first, 0.03, -2)
    writer.output(writer.node(operator, [second]))
    path = folder / "net.onnx"
    path.write_bytes(writer.finish())
    return path


def test_onnx_networks_end_behind_the_quantization_of_a_tensor(tmp_path: Path) -> None:
    path = _quantized(tmp_path, "NoSuchOperator")
    with pytest.raises(UnsupportedModelError):
        import_model(path)
    graph = import_model(path, Spelling(stop_at=(_relu(path),)))
    assert graph.outputs[0].external.dtype is DType.FLOAT32
    compiled = compile_model(path, Options(spelling=Spelling(stop_at=(_relu(path),)), target="host"))
    assert np.prod(compiled.schedule.graph.outputs[0].tensor.shape) == 75


def test_onnx_networks_that_end_early_are_those_of_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing was compared with it")
    path = _quantized(tmp_path)
    found = validate(compile_model(path, Options(spelling=Spelling(stop_at=(_relu(path),)), target="host")), samples=2)
    assert found.oracle == "ort" and found.exact


def _relu(path: Path) -> str:
    (name,) = (node.output[0] for node in onnx.load(str(path)).graph.node if node.op_type == "Relu")
    return str(name)
