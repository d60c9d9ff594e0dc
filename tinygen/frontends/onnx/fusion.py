"""Nodes that together are one operator: exporters spell Gelu as x * (1 + erf(x / sqrt(2))) / 2, in several ways."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinygen.frontends.onnx.raw import RawModel, RawNode

_TOLERANCE = 1e-3  # relative: constants may have been float16


def fused(model: RawModel) -> RawModel:
    """The model with each such group of nodes as one, where nothing else reads what they compute in between."""
    graph = _Readers(model)
    replaced: dict[RawNode, RawNode] = {}
    removed: set[RawNode] = set()
    for erf in (node for node in model.nodes if node.operator == "Erf" and len(node.inputs) == 1):
        found = _gelu(graph, erf)
        if found is not None:
            last = found.nodes[-1]
            replaced[last] = replace(last, operator="Gelu", inputs=(found.input,), attributes={})
            removed.update(found.nodes[:-1])
    if not replaced:
        return model
    return replace(model, nodes=tuple(replaced.get(node, node) for node in model.nodes if node not in removed))


@dataclass(frozen=True)
class _Group:
    """Nodes in execution order, and the tensor that they compute a function of."""

    nodes: tuple[RawNode, ...]
    input: str


class _Readers:
    """Who makes and who reads which tensor, and the numbers of constants."""

    def __init__(self, model: RawModel) -> None:
        self._outputs = frozenset(model.outputs)
        self.makers: Mapping[str, RawNode] = {name: node for node in model.nodes for name in node.outputs}
        self._readers: dict[str, list[RawNode]] = {}
        for node in model.nodes:
            for name in dict.fromkeys(node.inputs):
                self._readers.setdefault(name, []).append(node)
        self._constants = dict(model.constants)
        for node in model.nodes:
            value = node.attributes.get("value")
            if node.operator == "Constant" and node.outputs and isinstance(value, np.ndarray):
                self._constants[node.outputs[0]] = value

    def is_number(self, name: str, number: float) -> bool:
        """Whether a tensor is a constant of that number."""
        array = self._constants.get(name)
        is_one = array is not None and array.size == 1 and np.issubdtype(array.dtype, np.floating)
        return is_one and array is not None and bool(math.isclose(float(array.item()), number, rel_tol=_TOLERANCE))

    def only_reader(self, node: RawNode, *operators: str) -> RawNode | None:
        """The one node that reads the result of another, where it is of these kinds and no output of the model."""
        if not node.outputs:
            return None
        readers = self._readers.get(node.outputs[0], [])
        is_single = len(readers) == 1 and node.outputs[0] not in self._outputs and not readers[0].domain
        return readers[0] if is_single and readers[0].operator in operators else None

    def other(self, node: RawNode, name: str) -> str:
        """The operand of a node of two beside `name`; empty where there is none."""
        others = [operand for operand in node.inputs if operand != name]
        return others[0] if len(node.inputs) == 2 and len(others) == 1 else ""

    def scaled(self, node: RawNode | None, operator: str, number: float) -> str:
        """The tensor that a node multiplies with, or divides by, a number; empty where it does not."""
        if node is None or node.operator != operator or len(node.inputs) != 2 or node.domain:
            return ""
        first, second = node.inputs
        if self.is_number(second, number):
            return first
        return second if operator == "Mul" and self.is_number(first, number) else ""


def _gelu(graph: _Readers, erf: RawNode) -> _Group | None:
    before = graph.makers.get(erf.inputs[0])
    input = graph.scaled(before, "Div", math.sqrt(2)) or graph.scaled(before, "Mul", math.sqrt(0.5))
    one = graph.only_reader(erf, "Add")
    if before is None or not input or graph.only_reader(before, "Erf") is None or one is None:
        return None
    if not graph.is_number(graph.other(one, erf.outputs[0]), 1.0):
        return None
    for nodes in _products(graph, one, input):
        return _Group((before, erf, *nodes), input)
    return None


def _products(graph: _Readers, one: RawNode, input: str) -> Iterator[tuple[RawNode, ...]]:
    """From `one`, which is 1 + erf(...), on: times the input, halved before, between or behind."""
    product = graph.only_reader(one, "Mul")
    if product is None:
        return
    factor = graph.other(product, one.outputs[0])
    last = graph.only_reader(product, "Mul", "Div")
    if factor == input and last is not None and _halves(graph, last) == product.outputs[0]:
        yield one, product, last
    half = graph.makers.get(factor)
    if half is not None and _halves(graph, half) == input and graph.only_reader(half, "Mul") is product:
        yield one, half, product
    if graph.is_number(factor, 0.5) and last is not None and graph.other(last, product.outputs[0]) == input:
        yield one, product, last


def _halves(graph: _Readers, node: RawNode) -> str:
    return graph.scaled(node, "Mul", 0.5) or graph.scaled(node, "Div", 2.0)
