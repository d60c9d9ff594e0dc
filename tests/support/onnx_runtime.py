"""onnxruntime as it comes, with its optimizations: what a user compares with."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
import onnx.shape_inference
import pytest
from onnx import TensorProto, numpy_helper

from tinygen.build.execute import Sample
from tinygen.ir.types import Array

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

needs_onnxruntime = pytest.mark.skipif(
    onnxruntime is None, reason="onnxruntime missing: ONNX operators are not compared with it"
)


def precise_session(model: Path) -> "onnxruntime.InferenceSession":
    """With optimizations; products of uint8 by int8 saturate on no processor (`tinygen/verify/unsigned_weights.py`)."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(model.parent))
    return onnxruntime.InferenceSession(_with_zero_points(model), options, providers=["CPUExecutionProvider"])


def _with_zero_points(model: Path) -> bytes:
    """Each channel's zero point is said: onnxruntime 1.32, asked for precision, adds one for all channels and fails."""
    message = onnx.load(str(model), load_external_data=False)
    channels = {tensor.name: tuple(tensor.dims) for tensor in message.graph.initializer if tensor.dims}
    signed = {
        value.name
        for value in (*onnx.shape_inference.infer_shapes(message).graph.value_info, *message.graph.initializer)
        if _element(value) == TensorProto.INT8
    }
    for node in message.graph.node:
        without = node.op_type == "DequantizeLinear" and len(node.input) == 2 and node.input[0] in signed
        if without and node.input[1] in channels:
            zero_points = np.zeros(channels[node.input[1]], np.int8)
            node.input.append(f"{node.output[0]}/zero_points")
            message.graph.initializer.append(numpy_helper.from_array(zero_points, node.input[2]))
    serialized: bytes = message.SerializeToString()
    return serialized


def _element(value: onnx.ValueInfoProto | TensorProto) -> int:
    return int(value.data_type if isinstance(value, TensorProto) else value.type.tensor_type.elem_type)


_session = lru_cache(maxsize=8)(precise_session)


def run_onnxruntime(model: Path, inputs: Sample) -> list[Array]:
    """The outputs of one inference."""
    session = _session(model)
    feed = {port.name: values for port, values in zip(session.get_inputs(), inputs, strict=True)}
    outputs: list[Array] = session.run(None, feed)
    return outputs
