"""onnxruntime multiplies uint8 by int8 without saturation, also where the processor has no instruction for it."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tinygen.ir.types import Array
from tinygen.verify.unsigned_weights import make_weights_unsigned

ort = pytest.importorskip("onnxruntime")

_FEATURES = 64
_SCALE = 2.0**-15


def _run(operator: str, domain: str, x: Array, w: Array, zeros: Array, inputs: list[str]) -> Array:
    """Of a node whose constants are named: x and the weights with their scales and zero points, of y too."""
    constants = {"w": w, "w_zero": zeros, "x_zero": np.array(3, np.uint8), "y_zero": np.array(0, np.uint8)}
    constants |= {"x_scale": np.array(1, np.float32), "y_scale": np.array(1, np.float32)}
    constants |= {"w_scale": np.array(_SCALE, np.float32)}
    kind = TensorProto.INT32 if operator.endswith("Integer") else TensorProto.UINT8
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, ["y"], domain=domain)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items() if name in inputs],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    make_weights_unsigned(model)
    stored = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    assert stored[model.graph.node[0].input[inputs.index("w")]] == TensorProto.UINT8
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    found: Array = ort.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0]
    return found


@pytest.mark.parametrize("zero", [0, 5])
@pytest.mark.parametrize(
    ("operator", "domain", "inputs"),
    [
        ("MatMulInteger", "", "x w x_zero w_zero"),
        ("MatMulInteger", "", "x w x_zero"),
        ("QLinearMatMul", "", "x x_scale x_zero w w_scale w_zero y_scale y_zero"),
        ("QGemm", "com.microsoft", "x x_scale x_zero w w_scale w_zero  y_scale y_zero"),
    ],
)
def test_sums_of_the_largest_products(operator: str, domain: str, inputs: str, zero: int) -> None:
    x = np.full((2, _FEATURES), 255, np.uint8)
    w = np.where(np.arange(5) % 2, 127, -128).astype(np.int8) * np.ones((_FEATURES, 1), np.int8)
    names = inputs.split(" ")
    zero = zero if "w_zero" in names else 0
    found = _run(operator, domain, x, w, np.array(zero, np.int8), names)
    sums = (x.astype(np.int64) - 3) @ (w.astype(np.int64) - zero)
    expected = sums if operator.endswith("Integer") else np.clip(np.rint(sums * _SCALE), 0, 255)
    assert np.array_equal(found, expected)


def test_what_is_int8_beside_int8_stays() -> None:
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "zero"], ["y"])]
    constants = [
        numpy_helper.from_array(np.zeros((2, 2), np.int8), "w"),
        numpy_helper.from_array(np.zeros((), np.int8), "zero"),
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], constants))
    before = model.SerializeToString()
    make_weights_unsigned(model)
    assert model.SerializeToString() == before


def test_scales_found_at_run_time_are_of_uint8() -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["y"]),
    ]
    constants = [numpy_helper.from_array(np.full((2, 2), -128, np.int8), "w")]
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], constants))
    make_weights_unsigned(model)
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    _, weights, _, zero = model.graph.node[1].input
    assert found[weights].dtype == np.uint8
    assert (found[weights].max(), int(found[zero])) == (0, 128)
