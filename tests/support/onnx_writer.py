"""Writes quantized ONNX models for tests: QDQ around nodes, constants of all kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinygen.ir.types import Array

IR_VERSION = 10  # that onnxruntime takes
DEFAULT_OPSET = 17

_CODES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.int16): TensorProto.INT16,
    np.dtype(np.uint16): TensorProto.UINT16,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}

Value = str
Attribute = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]
Attributes = Mapping[str, Attribute]
NONE: Attributes = MappingProxyType({})


@dataclass
class OnnxWriter:
    """A model that grows node by node; methods give the names of tensors."""

    opset: int = DEFAULT_OPSET
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def constant(self, array: Array, name: str = "") -> Value:
        """An initializer."""
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def port(self, shape: Sequence[int | str | None], dtype: type[np.generic] = np.float32, name: str = "") -> Value:
        """An input of the model."""
        name = name or f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, _CODES[np.dtype(dtype)], shape))
        return name

    def input(self, shape: Sequence[int], scale: float, zero_point: int, dtype: type[np.generic] = np.int8) -> Value:
        """An input of the model, quantized at once."""
        return self.requantized(self.port(shape), scale, zero_point, dtype)

    def node(
        self, operator: str, inputs: Sequence[Value], attributes: Attributes = NONE, count: int = 1, domain: str = ""
    ) -> Value:
        """A node; the name of its first output, the others have the numbers after it."""
        first = len(self.nodes)
        outputs = [f"t{first}" if number == 0 else f"t{first}.{number}" for number in range(count)]
        node = helper.make_node(operator, list(inputs), outputs, f"n{first}", domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return outputs[0]

    def scaling(self, scale: float, zero_point: int, dtype: type[np.generic] = np.int8) -> list[Value]:
        """Scale and zero point."""
        return [self.constant(np.array(scale, np.float32)), self.constant(np.array(zero_point, dtype))]

    def requantized(self, value: Value, scale: float, zero_point: int, dtype: type[np.generic] = np.int8) -> Value:
        """The value through QuantizeLinear and DequantizeLinear."""
        parameters = self.scaling(scale, zero_point, dtype)
        stored = self.node("QuantizeLinear", [value, *parameters])
        return self.node("DequantizeLinear", [stored, *parameters])

    def weights(self, array: Array, scales: Array | float, axis: int = 0, zero_point: int = 0) -> Value:
        """Stored constants through DequantizeLinear, per tensor or per channel."""
        scale = np.asarray(scales, np.float32)
        zero_points = np.full(scale.shape, zero_point, array.dtype)
        parameters = [self.constant(array), self.constant(scale), self.constant(zero_points)]
        return self.node("DequantizeLinear", parameters, {"axis": axis} if scale.ndim else NONE)

    def output(self, value: Value, dtype: type[np.generic] = np.float32) -> None:
        """An output of the model."""
        info = onnx.ValueInfoProto(name=value)
        info.type.tensor_type.elem_type = _CODES[np.dtype(dtype)]
        self.outputs.append(info)

    def model(self) -> onnx.ModelProto:
        """The model."""
        graph = helper.make_graph(self.nodes, "test", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def finish(self) -> bytes:
        """The model as a file's content."""
        content: bytes = self.model().SerializeToString()
        return content
