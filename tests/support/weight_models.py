"""ONNX models of one or two layers, for what happens to their weights."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

_CODES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


def matmul(
    features: int, units: int, *, dtype: Any = np.float32, extra_matmul: bool = False, added: bool = False
) -> onnx.ModelProto:
    """input [4, features] x weights; perhaps a second product, or `added` [64, units] of which rows are a summand."""
    rng = np.random.default_rng(7)
    constants = [numpy_helper.from_array(rng.normal(size=(features, units)).astype(dtype), "weights")]
    nodes, result, columns, rows = [helper.make_node("MatMul", ["input", "weights"], ["product"])], "product", units, 4
    if extra_matmul:
        constants.append(numpy_helper.from_array(rng.normal(size=(units, 64)).astype(dtype), "more"))
        nodes.append(helper.make_node("MatMul", [result, "more"], ["second"]))
        result, columns = "second", 64
    if added:
        rows = 64
        constants.append(numpy_helper.from_array(rng.normal(size=(rows, units)).astype(dtype), "added"))
        nodes.append(helper.make_node("Add", [result, "added"], ["sum"]))
        result = "sum"
    return _model(nodes, [rows, features], result, [rows, columns], constants, _CODES[dtype])


def convolution(depth: int, channels: int) -> onnx.ModelProto:
    """A 3x3 convolution of 6x5 pixels with a bias."""
    rng = np.random.default_rng(8)
    constants = [
        numpy_helper.from_array(rng.normal(size=(channels, depth, 3, 3)).astype(np.float32), "weights"),
        numpy_helper.from_array(rng.normal(size=channels).astype(np.float32), "bias"),
    ]
    node = helper.make_node("Conv", ["input", "weights", "bias"], ["result"], pads=[1, 1, 1, 1])
    return _model([node], [1, depth, 6, 5], "result", [1, channels, 6, 5], constants, TensorProto.FLOAT)


def dequantize_nodes(model: onnx.ModelProto) -> list[NodeProto]:
    """The nodes that make real weights."""
    return [node for node in model.graph.node if node.op_type == "DequantizeLinear"]


def scale_of(model: onnx.ModelProto) -> np.ndarray:
    """The scales of the first such node."""
    name = dequantize_nodes(model)[0].input[1]
    tensor = next(t for t in model.graph.initializer if t.name == name)
    if tensor.data_type == TensorProto.FLOAT8E8M0:
        return np.frombuffer(tensor.raw_data, ml_dtypes.float8_e8m0fnu).reshape(tuple(tensor.dims))
    return numpy_helper.to_array(tensor)


def _model(
    nodes: list[NodeProto], shape: list[int], result: str, out: list[int], constants: list[TensorProto], code: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("input", code, shape)],
        [helper.make_tensor_value_info(result, code, out)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
