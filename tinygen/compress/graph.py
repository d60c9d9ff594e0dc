"""Weights of graphs: what they stand for stays in the graph, how they are stored stands beside it."""

from dataclasses import replace
from functools import partial

import numpy as np

from tinygen.compress.codings import Weights
from tinygen.compress.finding import Finding, finding
from tinygen.compress.method import CompressionMethod
from tinygen.compress.network import GraphNetwork
from tinygen.compress.samples import Given
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType


def compress_graph(
    graph: Graph, method: CompressionMethod, calibrate: Given | None = None
) -> tuple[Graph, tuple[Finding, ...]]:
    """A graph whose float32 weights are stored narrow."""
    mapping: dict[Tensor, Tensor] = {}
    wanted: dict[Tensor, Weights] = {}
    findings: dict[Tensor, Finding] = {}
    for tensor, readers in graph.consumers.items():
        is_coded = tensor.coding is not None and not tensor.coding.is_half
        if tensor.data is None or tensor.type.dtype is not DType.FLOAT32 or is_coded:
            continue
        axes = {
            (op.filters.channel_axis, op.filters.input_axis)
            for op in readers
            if op.filters is not None and op.filters.weights is tensor and op.filters.input_axis is not None
        }
        takers = [op for op in readers if op.filters is not None and op.filters.weights is tensor]
        reason = ""
        if tensor.type.elements <= method.weight_num_threshold:
            reason = f"{tensor.type.elements} elements, more than {method.weight_num_threshold} are {method.done}"
        elif len(axes) != 1 or len(takers) != len(readers) or tensor in graph.output_tensors:
            reason = "read by an operator without kernels for narrow weights"
        else:
            wanted[tensor] = Weights(tensor.name, partial(_values, tensor), *axes.pop(), len(tensor.shape))
        size = tensor.type.bytes
        findings[tensor] = Finding(tensor.name, tensor.shape, size, size, reason)
    network = None if calibrate is None or not wanted else GraphNetwork(graph, calibrate)
    results = method.encoded(list(wanted.values()), network)
    for tensor in wanted:
        result = results[tensor.name]
        findings[tensor] = finding(tensor.name, tensor.shape, tensor.type.bytes, result, method.done)
        if result.coding is not None:
            mapping[tensor] = replace(tensor, data=np.asarray(result.coding.decoded), coding=result.coding)
    return graph.replace_tensors(mapping) if mapping else graph, tuple(findings.values())


def _values(tensor: Tensor) -> Array:
    assert tensor.data is not None
    return tensor.data
