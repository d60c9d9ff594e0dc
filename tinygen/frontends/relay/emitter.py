"""The ONNX network that grows while a text is read: tensors with known types, nodes, constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TypeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tinygen.budget import CONSTANT_BYTES, FOLDED_BYTES, NODES, TENSOR_BYTES, Account
from tinygen.ir.types import Array

OPSET = 17

_IR_VERSION = 8  # of that opset
_IMPORTS = (helper.make_opsetid("", OPSET),)
_MOST_SIZES = 1 << 10  # of a constant that a shape depends on
_FOLDED = (
    *("Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Neg", "Cast"),
    *("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Concat", "Slice"),
    *("Gather", "IsNaN", "Less", "Where"),
)


@dataclass(frozen=True)
class Meaning:
    """What stored integers stand for; scales and zero points of an axis, or one of each."""

    scale: Array
    zero_point: Array
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Wired:
    """A tensor of the ONNX network; `quantized`: what its integers stand for, where an operator has said so."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    data: Array | None = None
    quantized: Meaning | None = None


@dataclass(eq=False)
class Emitter:
    """Nodes and constants in the order in which they are made."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    names: dict[Wired, str] = field(default_factory=dict)  # of constants that nodes read
    count: Account = field(default_factory=lambda: Account(NODES))
    stored: Account = field(default_factory=lambda: Account(CONSTANT_BYTES))
    folded: Account = field(default_factory=lambda: Account(FOLDED_BYTES))

    def constant(self, data: Array, name: str = "") -> Wired:
        """A constant; it becomes part of the network once a node reads it."""
        return Wired(name, data.dtype, data.shape, data)

    def emit(
        self,
        operator: str,
        inputs: Sequence[Wired | None],
        attributes: Mapping[str, Any] | None = None,
        quantized: Meaning | None = None,
    ) -> Wired:
        """The only result of a new node; ValueError where its operands do not go together."""
        return self.emit_all(operator, inputs, attributes, 1, quantized)[0]

    def emit_all(
        self,
        operator: str,
        inputs: Sequence[Wired | None],
        attributes: Mapping[str, Any] | None = None,
        results: int = 1,
        quantized: Meaning | None = None,
    ) -> list[Wired]:
        """The same with so many results."""
        self.count.spend(1, "the network")
        number = len(self.nodes)
        given = [self._named(tensor) for tensor in inputs]
        names = [f"{operator}:{number}" + (f":{index}" if index else "") for index in range(results)]
        node = helper.make_node(operator, given, names, **dict(attributes or {}))
        types = self._types(node, inputs)
        found = [Wired(name, *self._type(name, types), quantized=quantized) for name in names]
        known = [tensor.data for tensor in inputs if tensor is not None and tensor.data is not None]
        if operator in _FOLDED and len(known) == len(inputs):
            return [self._computed(node, dict(zip(given, known, strict=True)), tensor) for tensor in found]
        self.nodes.append(node)
        return found

    def _named(self, tensor: Wired | None) -> str:
        """What a node calls a tensor; constants are written where the first node reads them."""
        if tensor is None:
            return ""
        if tensor.data is not None and tensor not in self.names:
            self.names[tensor] = f"{tensor.name or 'constant'}:{len(self.names)}"
            self.stored.spend(tensor.data.nbytes, "the network")
        return self.names.get(tensor, tensor.name)

    def _types(self, node: onnx.NodeProto, inputs: Sequence[Wired | None]) -> Mapping[str, onnx.TypeProto]:
        present = [tensor for tensor in inputs if tensor is not None]
        schema = onnx.defs.get_schema(node.op_type, OPSET, "")
        types = {
            self._named(each): helper.make_tensor_type_proto(
                helper.np_dtype_to_tensor_dtype(each.dtype), list(each.shape)
            )
            for each in present
        }
        values = {
            self._named(each): numpy_helper.from_array(each.data)
            for each in present
            if each.data is not None and each.data.size <= _MOST_SIZES
        }
        try:
            return onnx.shape_inference.infer_node_outputs(schema, node, types, values, opset_imports=list(_IMPORTS))
        except onnx.shape_inference.InferenceError as error:
            reason = str(error).rpartition("] ")[2] or str(error)
            raise ValueError(f"its operands do not go together ({reason:.120})") from None

    def _type(self, name: str, types: Mapping[str, onnx.TypeProto]) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
        tensor = types[name].tensor_type if name in types else TypeProto.Wired()
        if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            raise ValueError("the shape of its result does not follow from its operands")
        shape = tuple(dim.dim_value for dim in tensor.shape.dim)
        if min(shape, default=1) < 1:
            raise ValueError(f"its result has shape {list(shape)}, elements were expected")
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        TENSOR_BYTES.check(prod(shape) * dtype.itemsize, f"the result of {name}")
        return dtype, shape

    def _computed(self, node: onnx.NodeProto, known: Mapping[str, Array], like: Wired) -> Wired:
        """A constant made of constants."""
        self.folded.spend(prod(like.shape) * like.dtype.itemsize, "the network")
        with np.errstate(all="ignore"):
            [data] = ReferenceEvaluator(node).run(None, dict(known))
        return self.constant(np.asarray(data, like.dtype).reshape(like.shape))

    def model(self, name: str, inputs: Sequence[Wired], outputs: Sequence[tuple[str, Wired]]) -> onnx.ModelProto:
        """The network from those inputs that it reads to outputs; these get their names."""
        own = {name for node in self.nodes for name in node.output}
        renamed: dict[str, str] = {}
        for called, tensor in outputs:
            if tensor.name in own and tensor.name not in renamed:
                renamed[tensor.name] = called
            else:  # an input, a constant, or one result as two outputs
                self.nodes.append(helper.make_node("Identity", [self._named(tensor)], [called]))
        for node in self.nodes:
            node.input[:] = [renamed.get(name, name) for name in node.input]
            node.output[:] = [renamed.get(name, name) for name in node.output]
        read = {name for node in self.nodes for name in node.input}
        graph = helper.make_graph(
            self.nodes,
            name,
            [_port(tensor.name, tensor) for tensor in inputs if tensor.name in read],
            [_port(called, tensor) for called, tensor in outputs],
            [
                numpy_helper.from_array(np.ascontiguousarray(tensor.data), called)
                for tensor, called in self.names.items()
                if tensor.data is not None
            ],
        )
        return helper.make_model(graph, opset_imports=list(_IMPORTS), ir_version=_IR_VERSION)


def _port(name: str, tensor: Wired) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(tensor.dtype), list(tensor.shape))
