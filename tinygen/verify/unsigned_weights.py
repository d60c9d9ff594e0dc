"""Models in which onnxruntime multiplies without saturation, whatever the processor.

On x86 without VNNI its products of uint8 by int8 add up in pairs of 16 bits that saturate. Of uint8 by uint8 they do
not, and weights that are 128 more, beside a zero point that is 128 more, are the same weights.
"""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

# inputs of operators: zero point of the activations, weights, their zero point
_PLACES: Mapping[str, tuple[int | None, int, int]] = {
    "ConvInteger": (2, 1, 3),
    "DynamicQuantizeMatMul": (None, 1, 3),  # its activations are always uint8
    "MatMulInteger": (2, 1, 3),
    "MatMulIntegerToFloat": (4, 1, 5),
    "QGemm": (2, 3, 5),
    "QLinearConv": (2, 3, 5),
    "QLinearMatMul": (2, 3, 5),
}


def make_weights_unsigned(model: onnx.ModelProto) -> None:
    """Weights of int8 beside activations of uint8 become uint8; those that stand in other files stay as they are."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    unsigned = {name for name, tensor in stored.items() if tensor.data_type == TensorProto.UINT8}
    for node in model.graph.node:  # in order of execution
        if node.op_type == "DynamicQuantizeLinear":
            unsigned.update(filter(None, node.output[2:]))
        elif node.op_type in _PLACES:
            activations, weights, zero_point = _PLACES[node.op_type]
            if activations is None or _input(node, activations) in unsigned:
                _replace(model, node, weights, zero_point, stored)


def _replace(
    model: onnx.ModelProto, node: onnx.NodeProto, weights: int, zero_point: int, stored: Mapping[str, TensorProto]
) -> None:
    """New constants in a node's inputs, if both are constant."""
    zeros = _input(node, zero_point)
    none = numpy_helper.from_array(np.zeros((), np.int8))
    replaced = (stored.get(_input(node, weights)), stored.get(zeros) if zeros else none)
    if any(tensor is None or not _is_here(tensor) for tensor in replaced):
        return
    node.input.extend([""] * (zero_point + 1 - len(node.input)))
    for place, tensor in zip((weights, zero_point), replaced, strict=True):
        assert tensor is not None
        values = numpy_helper.to_array(tensor).astype(np.int16) + 128
        name = f"{node.output[0]}/unsigned_{place}"
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.uint8), name))
        node.input[place] = name


def _input(node: onnx.NodeProto, place: int) -> str:
    return str(node.input[place]) if place < len(node.input) else ""


def _is_here(tensor: TensorProto) -> bool:
    return tensor.data_type == TensorProto.INT8 and tensor.data_location != TensorProto.EXTERNAL
