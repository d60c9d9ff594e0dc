"""Weights of graphs: what they stand for stays in the graph, how they are stored stands beside it."""

from dataclasses import replace

import numpy as np

from tinygen.compress.encode import encode
from tinygen.compress.finding import Finding
from tinygen.compress.scheme import Scheme
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType


def quantize_graph_weights(graph: Graph, scheme: Scheme) -> tuple[Graph, tuple[Finding, ...]]:
    """A graph whose float32 weights are stored narrow."""
    mapping: dict[Tensor, Tensor] = {}
    findings = []
    for tensor, readers in graph.consumers.items():
        if tensor.data is None or tensor.type.dtype is not DType.FLOAT32 or tensor.coding is not None:
            continue
        axes = {
            (op.filters.channel_axis, op.filters.input_axis)
            for op in readers
            if op.filters is not None and op.filters.weights is tensor and op.filters.input_axis is not None
        }
        takers = [op for op in readers if op.filters is not None and op.filters.weights is tensor]
        reason, is_failure, size = "", False, tensor.type.bytes
        if tensor.type.elements <= scheme.weight_num_threshold:
            reason = f"{tensor.type.elements} elements, more than {scheme.weight_num_threshold} are quantized"
        elif len(axes) != 1 or len(takers) != len(readers) or tensor in graph.output_tensors:
            reason = "read by an operator without kernels for narrow weights"
        else:
            try:
                coding = encode(tensor.data, scheme, scheme.block_sizes(len(tensor.shape), *axes.pop()))
                mapping[tensor] = replace(tensor, data=np.asarray(coding.decoded), coding=coding)
                size = coding.bytes
            except ValueError as error:
                reason, is_failure = str(error), True
        findings.append(Finding(tensor.name, tensor.shape, tensor.type.bytes, size, reason, is_failure))
    return graph.replace_tensors(mapping) if mapping else graph, tuple(findings)
