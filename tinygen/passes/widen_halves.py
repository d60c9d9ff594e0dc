"""Weights that the model has in float16, as float32: the same numbers, in twice the flash."""

from dataclasses import replace

from tinygen.ir.graph import Graph


def widen_halves(graph: Graph) -> Graph:
    """Store weights as float32 where nothing shall be decoded: for `-O time`, and before layers are quantized."""
    halves = (tensor for tensor in graph.tensors if tensor.coding is not None and tensor.coding.is_half)
    mapping = {tensor: replace(tensor, coding=None) for tensor in halves}
    return graph.replace_tensors(mapping) if mapping else graph
