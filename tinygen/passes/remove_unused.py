"""Removes operators whose results nobody needs."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op


def remove_unused(graph: Graph) -> Graph:
    """Keep the operators that an output of the model depends on."""
    needed = set(graph.output_tensors)
    kept: list[Op] = []
    for op in reversed(graph.ops):
        if needed.intersection(op.results):
            needed.update(op.operands)
            kept.append(op)
    return replace(graph, ops=tuple(reversed(kept))) if len(kept) < len(graph.ops) else graph
