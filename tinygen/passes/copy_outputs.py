"""Gives every output of the model memory that the model writes."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ops.copy import Copy


def copy_outputs(graph: Graph) -> Graph:
    """Copy constants and inputs that are outputs at the same time; runs last, for passes may make constants."""
    shared = [tensor for tensor in dict.fromkeys(graph.output_tensors) if _needs_copy(tensor, graph)]
    if not shared:
        return graph
    taken = {tensor.name for tensor in graph.tensors}
    copies = {tensor: _copy(tensor, graph, taken) for tensor in shared}
    outputs = tuple(_redirected(port, copies) for port in graph.outputs)
    return replace(graph, outputs=outputs, ops=(*graph.ops, *copies.values()))


def _needs_copy(tensor: Tensor, graph: Graph) -> bool:
    return tensor.is_constant or tensor in graph.input_tensors


def _copy(tensor: Tensor, graph: Graph, taken: set[str]) -> Op:
    name = unused(f"{tensor.name}:copy", taken)
    source = Source(graph.name, len(graph.ops), f"copy of '{tensor.name}'")
    return Copy(name=name, source=source, input=tensor, output=Tensor(name, tensor.type))


def _redirected(port: Port, copies: dict[Tensor, Op]) -> Port:
    return replace(port, tensor=copies[port.tensor].results[0]) if port.tensor in copies else port
