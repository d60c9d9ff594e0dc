"""Writing graphs as ONNX: values in both orders of axes, and through their quantization."""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinygen.errors import UnsupportedModelError
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType

IR_VERSION = 10  # that every onnxruntime of the last years takes
OPSET = 20
_FED_BYTES = 1 << 20
MOST_BYTES = (1 << 31) - (1 << 24)  # of constants: protobuf takes 2 GiB with all else
BATCH = "N"  # the name of the first axis where samples may be computed together

Value = str
Attribute = int | float | str | Sequence[int] | Sequence[float]
NONE: Mapping[str, Attribute] = MappingProxyType({})

_CODES = {
    DType.BOOL: TensorProto.BOOL,
    DType.INT8: TensorProto.INT8,
    DType.UINT8: TensorProto.UINT8,
    DType.INT16: TensorProto.INT16,
    DType.INT32: TensorProto.INT32,
    DType.INT64: TensorProto.INT64,
    DType.FLOAT32: TensorProto.FLOAT,
}


class ImageOrder(Enum):
    """Order of the axes of an image: the graph's own, or ONNX's."""

    OWN = "own"
    NCHW = "nchw"


_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class OnnxWriter:
    """An ONNX graph that grows operator by operator.

    Where it `feeds` tables, large ones that are selected from become inputs of the model, whose values `fed` holds.
    """

    def __init__(self, name: str, has_batch: bool, names: Mapping[Tensor, str], feeds: bool = False) -> None:
        self._name = name
        self._has_batch = has_batch
        self._names = names  # of the outputs of the model
        self._feeds = feeds
        self.fed: dict[str, Array] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._constant_bytes = 0
        self._values: dict[tuple[Tensor, ImageOrder], Value] = {}
        self._taken: set[str] = set()

    def input(self, tensor: Tensor, name: str) -> onnx.ValueInfoProto:
        """An input of the model, float32 even where its tensor is quantized."""
        self._define(tensor, self.claim(name), ImageOrder.OWN)
        dtype = tensor.type.dtype if tensor.type.quant is None else DType.FLOAT32
        return helper.make_tensor_value_info(name, _CODES[dtype], self._dims(tensor.shape))

    def output(self, tensor: Tensor, name: str) -> onnx.ValueInfoProto:
        """An output of the model in the graph's order of axes."""
        value = self.value(tensor)
        if value != name:
            self._nodes.append(helper.make_node("Identity", [value], [self.claim(name)], f"{name}:output"))
        dtype = tensor.type.dtype if tensor.type.quant is None else DType.FLOAT32
        return helper.make_tensor_value_info(name, _CODES[dtype], self._dims(tensor.shape))

    def value(self, tensor: Tensor, layout: ImageOrder = ImageOrder.OWN) -> Value:
        """The real values of a tensor in an order of axes."""
        if tensor.data is not None:
            return self._constant_value(tensor, layout)
        key = (tensor, layout)
        if key not in self._values:
            other = ImageOrder.OWN if layout is ImageOrder.NCHW else ImageOrder.NCHW
            order = _TO_NCHW if layout is ImageOrder.NCHW else _TO_NHWC
            name = self.claim(f"{tensor.name}:{layout.value}")
            self._nodes.append(helper.make_node("Transpose", [self._values[tensor, other]], [name], perm=order))
            self._values[key] = name
        return self._values[key]

    def table(self, tensor: Tensor) -> Value:
        """The real values of a tensor that is selected from."""
        data, key = tensor.data, (tensor, ImageOrder.OWN)
        is_fed = self._feeds and data is not None and data.nbytes >= _FED_BYTES and tensor.type.quant is None
        if is_fed and data is not None and key not in self._values:
            self._values[key] = self.claim(tensor.name)
            self.fed[self._values[key]] = data
        return self.value(tensor)

    def watch(self, tensor: Tensor) -> tuple[onnx.ValueInfoProto, ImageOrder]:
        """A tensor as an output too, in the order in which it is there."""
        layout = self.layout_of(tensor)
        info = onnx.ValueInfoProto(name=self.value(tensor, layout))
        info.type.tensor_type.elem_type = TensorProto.FLOAT
        return info, layout

    def layout_of(self, tensor: Tensor) -> ImageOrder:
        """An order in which the tensor is there."""
        return ImageOrder.NCHW if (tensor, ImageOrder.NCHW) in self._values else ImageOrder.OWN

    def result(
        self,
        operator: str,
        operands: Sequence[Value],
        tensor: Tensor,
        layout: ImageOrder = ImageOrder.OWN,
        attributes: Mapping[str, Attribute] = NONE,
        domain: str = "",
    ) -> None:
        """A node whose result is a tensor of the graph."""
        name = self._names.get(tensor, tensor.name)
        free = tensor.type.quant is None and self._keeps_name(tensor, layout)
        value = self.claim(name if free else f"{tensor.name}:real")
        self._add(operator, operands, value, attributes, domain)
        self._define(tensor, value, layout)

    def inner(self, operator: str, operands: Sequence[Value], attributes: Mapping[str, Attribute] = NONE) -> Value:
        """A node whose result the graph does not have."""
        value = self.claim(f"{operator}:{len(self._nodes)}")
        self._add(operator, operands, value, attributes, "")
        return value

    def constant(self, array: Array, name: str = "") -> Value:
        """An initializer."""
        name = self.claim(name or f"constant:{len(self._constants)}")
        self._constant_bytes += array.nbytes
        if self._constant_bytes > MOST_BYTES:
            raise UnsupportedModelError(
                f"{self._name}: its constants take {self._constant_bytes:,} bytes up to '{name}', at most "
                f"{MOST_BYTES:,} were expected, which a protobuf message holds. Write no ONNX file of this network."
            )
        self._constants[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def filters(self, tensor: Tensor, data: Array, axis: int) -> Value:
        """Weights or biases with axes as ONNX has them; `axis` counts output channels."""
        if tensor.type.quant is None:
            return self.constant(data.astype(np.float32), tensor.name)
        return self._dequantized(self.constant(data, tensor.name), tensor.type, axis)

    def finish(self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
        """The model."""
        fed = [helper.make_tensor_value_info(n, _CODES[DType.of(a.dtype)], a.shape) for n, a in self.fed.items()]
        graph = helper.make_graph(self._nodes, self._name, [*inputs, *fed], outputs, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        model.producer_name = "tinygen"
        return model

    def claim(self, name: str) -> str:
        """A name that nothing else has."""
        free = unused(name, self._taken)
        self._taken.add(free)
        return free

    def target_shape(self, shape: Sequence[int]) -> Value:
        """A shape as an operand; the first axis is open where samples may be computed together."""
        dims = [-1, *shape[1:]] if self._has_batch else list(shape)
        return self.constant(np.array(dims, np.int64))

    def _dims(self, shape: Sequence[int]) -> list[int | str]:
        return [BATCH, *shape[1:]] if self._has_batch else list(shape)

    def _add(
        self, operator: str, operands: Sequence[Value], result: Value, attributes: Mapping[str, Attribute], domain: str
    ) -> None:
        node = helper.make_node(operator, list(operands), [result], f"{operator}:{len(self._nodes)}", domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self._nodes.append(node)

    def _define(self, tensor: Tensor, value: Value, layout: ImageOrder) -> None:
        """Let the value be the tensor's, through the tensor's quantization."""
        quant = tensor.type.quant
        if quant is not None:
            operands = [value, *self._scaling(quant, tensor.type.dtype)]
            stored = self.claim(f"{tensor.name}:stored")
            self._add("QuantizeLinear", operands, stored, NONE, "")
            value = self._dequantized(stored, tensor.type, None, self._name_of(tensor, layout))
        self._values[tensor, layout] = value

    def _keeps_name(self, tensor: Tensor, layout: ImageOrder) -> bool:
        """Whether the value in this order of axes has the tensor's name: outputs have the graph's order."""
        return layout is ImageOrder.OWN or tensor not in self._names

    def _name_of(self, tensor: Tensor, layout: ImageOrder) -> str:
        return self._names.get(tensor, tensor.name) if self._keeps_name(tensor, layout) else ""

    def _dequantized(self, stored: Value, type: TensorType, axis: int | None, name: str = "") -> Value:
        quant = type.quant
        assert quant is not None
        value = self.claim(name or f"{stored}:dequantized")
        attributes = NONE if axis is None or quant.is_per_tensor else {"axis": axis}
        operands = [stored, *self._scaling(quant, type.dtype)]
        self._add("DequantizeLinear", operands, value, attributes, "")
        return value

    def _scaling(self, quant: Quant, dtype: DType) -> list[Value]:
        scales, zero_points = np.array(quant.scales, np.float32), np.array(quant.zero_points, dtype.numpy)
        if quant.is_per_tensor:
            scales, zero_points = scales.reshape(()), zero_points.reshape(())
        return [self.constant(scales), self.constant(zero_points)]

    def _constant_value(self, tensor: Tensor, layout: ImageOrder) -> Value:
        key = (tensor, layout)
        if key not in self._values:
            assert tensor.data is not None
            data = tensor.data
            if layout is ImageOrder.NCHW:
                padded = data.reshape((1,) * (4 - data.ndim) + data.shape) if 1 < data.ndim + 1 < 5 else data
                data = padded.transpose(_TO_NCHW)
            name = tensor.name if tensor.name not in self._taken else f"{tensor.name}:{layout.value}"
            stored = self.constant(data, name)
            quant = tensor.type.quant
            self._values[key] = stored if quant is None else self._dequantized(stored, tensor.type, quant.axis)
        return self._values[key]
