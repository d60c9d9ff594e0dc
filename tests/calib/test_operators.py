"""One network after the other, each with another operator in its middle: calibrated, compiled, compared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.command_line import tinygen

Node = tuple[str, Sequence[str], Mapping[str, Any]]

_HALF = np.full((1, 4, 1, 1), 0.5, np.float32)
_CONSTANTS: dict[str, npt.NDArray[Any]] = {
    "w": np.random.default_rng(1).normal(0, 0.4, (4, 2, 3, 3)).astype(np.float32),
    "b": np.array([0.1, -0.2, 0.3, 0.0], np.float32),
    "half": _HALF,
    "slopes": np.array([0.1, 0.3, -0.2, 0.5], np.float32).reshape(4, 1, 1),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 0], np.int64),
    "axes": np.array([2, 3], np.int64),
    "sizes": np.array([1, 4, 12, 12], np.int64),
    "starts": np.array([1, 0], np.int64),
    "ends": np.array([5, 6], np.int64),
}

MIDDLES: dict[str, list[Node]] = {
    **{name: [(name, ["a"], {})] for name in ("Sigmoid", "Tanh", "Relu", "HardSwish", "Elu", "Abs", "Neg", "Exp")},
    "LeakyRelu": [("LeakyRelu", ["a"], {"alpha": 0.2})],
    "PRelu": [("PRelu", ["a", "slopes"], {})],
    "Sqrt": [("Abs", ["a"], {}), ("Sqrt", ["t0"], {})],
    "Add": [("Tanh", ["a"], {}), ("Add", ["a", "t0"], {})],
    "Sub": [("Tanh", ["a"], {}), ("Sub", ["a", "t0"], {})],
    "Mul": [("Sigmoid", ["a"], {}), ("Mul", ["a", "t0"], {})],
    "Mul by a constant": [("Mul", ["a", "half"], {})],
    "Max": [("Tanh", ["a"], {}), ("Max", ["a", "t0"], {})],
    "Concat of a sigmoid": [("Sigmoid", ["a"], {}), ("Concat", ["a", "t0"], {"axis": 1})],
    "Concat of two sigmoids": [("Sigmoid", ["a"], {}), ("Sigmoid", ["t0"], {}), ("Concat", ["t0", "t1"], {"axis": 1})],
    "Pad": [("Pad", ["a", "pads"], {})],
    "ReduceMean": [("ReduceMean", ["a", "axes"], {"keepdims": 1})],
    "ReduceMax": [("ReduceMax", ["a", "axes"], {"keepdims": 1})],
    "MaxPool": [("MaxPool", ["a"], {"kernel_shape": [2, 2], "strides": [2, 2]})],
    "AveragePool": [("AveragePool", ["a"], {"kernel_shape": [2, 2], "strides": [2, 2]})],
    "Resize": [("Resize", ["a", "", "", "sizes"], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                                                  "nearest_mode": "floor"})],
    "Slice": [("Slice", ["a", "starts", "ends", "axes"], {})],
    "Clip": [("Relu", ["a"], {}), ("Softmax", ["t0"], {"axis": 3})],
}  # fmt: skip


def _model(middle: Sequence[Node]) -> bytes:
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
    for number, (operator, operands, attributes) in enumerate(middle):
        result = "y" if number == len(middle) - 1 else f"t{number}"
        nodes.append(helper.make_node(operator, operands, [result], f"n{number}", **attributes))
    used = {operand for node in nodes for operand in node.input}
    constants = [numpy_helper.from_array(array, name) for name, array in _CONSTANTS.items() if name in used]
    port = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])
    graph = helper.make_graph(nodes, "net", [port], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    graph.initializer.extend(constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    content: bytes = onnx.shape_inference.infer_shapes(model).SerializeToString()
    return content


@pytest.mark.parametrize("name", MIDDLES)
def test_an_operator_in_the_middle(name: str, tmp_path: Path) -> None:
    model, data, table = tmp_path / "net.onnx", tmp_path / "x.npy", tmp_path / "t.ctable.json"
    model.write_bytes(_model(MIDDLES[name]))
    np.save(data, np.random.default_rng(2).normal(0, 1, (40, 2, 6, 6)).astype(np.float32))
    ended = tinygen("calibrate", model, "--data", data, "-o", table)
    assert ended.code == 0, ended.stderr
    assert tinygen("ctable", "check", table, model).code == 0
    simulated = tinygen("simulate", model, "--ctable", table, "--data", data, "--json")
    assert simulated.code == 0, simulated.stderr
    sqnr = [op["sqnr_db"] for op in simulated.document["operators"]]
    assert min(value for value in sqnr if value is not None) > 22, sqnr
    compiled = tinygen("compile", model, "--ctable", table, "-o", tmp_path / "out")
    assert compiled.code == 0, compiled.stderr


@pytest.mark.parametrize("name", ["Concat of a sigmoid", "Neg", "Resize", "PRelu"])
def test_the_c_is_equal_to_the_simulator(name: str, tmp_path: Path) -> None:
    model, data = tmp_path / "net.onnx", tmp_path / "x.npy"
    model.write_bytes(_model(MIDDLES[name]))
    np.save(data, np.random.default_rng(2).normal(0, 1, (40, 2, 6, 6)).astype(np.float32))
    ended = tinygen("validate", model, "--calibrate", data, "--data", data, "--samples", "5", "--json", "-t", "host")
    assert (ended.code, ended.document["exact"]) == (0, True), ended.stderr


def test_open_sizes_are_given_as_for_compiling(tmp_path: Path) -> None:
    model, data, table = tmp_path / "net.onnx", tmp_path / "x.npy", tmp_path / "t.ctable.json"
    proto = onnx.load_from_string(_model(MIDDLES["Relu"]))
    dims = proto.graph.input[0].type.tensor_type.shape.dim
    dims[2].dim_param = dims[3].dim_param = "size"
    del proto.graph.value_info[:]
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model.write_bytes(proto.SerializeToString())
    np.save(data, np.random.default_rng(2).normal(0, 1, (40, 2, 6, 6)).astype(np.float32))
    sizes = ("--dim", "size=6")
    assert tinygen("calibrate", model, "--data", data, "-o", table).code == 3
    for arguments in (
        ("calibrate", model, "--data", data, "-o", table),
        ("simulate", model, "--ctable", table, "--data", data),
        ("quantize", model, "--ctable", table, "-o", tmp_path / "q.onnx"),
        ("compile", model, "--ctable", table, "-o", tmp_path / "out"),
    ):
        ended = tinygen(*arguments, *sizes)
        assert ended.code == 0, ended.stderr
