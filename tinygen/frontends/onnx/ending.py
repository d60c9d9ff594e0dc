"""The part of an ONNX network that computes tensors which the user names."""

from collections.abc import Sequence
from dataclasses import replace

from tinygen.frontends.ending import check_ends, needed
from tinygen.frontends.onnx.raw import RawModel, RawNode

_QUANTIZING = ("QuantizeLinear", "DequantizeLinear")


def ending_at(model: RawModel, ends: Sequence[str]) -> RawModel:
    """The model with `ends` as outputs, without nodes and inputs that these do not need; UsageError.

    Where a tensor is quantized behind its operator, the output is what comes out of that: its own values are float32
    on which no integer operator says what it rounds to.
    """
    if not ends:
        return model
    computed = [name for node in model.nodes for name in node.outputs if name and isinstance(name, str)]
    check_ends(model.path.name, ends, computed)
    outputs = tuple(_quantized(model.nodes, end) for end in ends)
    nodes, tensors = needed(model.nodes, outputs, lambda node: filter(None, node.inputs), lambda node: node.outputs)
    inputs = tuple(input for input in model.inputs if input.name in tensors)
    return replace(model, nodes=nodes, inputs=inputs, outputs=outputs)


def _quantized(nodes: Sequence[RawNode], name: str) -> str:
    for operator in _QUANTIZING:
        name = next((node.outputs[0] for node in nodes if _is_next(node, operator, name)), name)
    return name


def _is_next(node: RawNode, operator: str, name: str) -> bool:
    return node.operator == operator and node.inputs[:1] == (name,) and len(node.outputs) == 1
