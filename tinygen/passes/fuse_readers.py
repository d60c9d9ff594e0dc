"""Lets operators compute in passing what others make of their results."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op


def fuse_readers(graph: Graph) -> Graph:
    """Operators with the first of their readers that they absorb: the same results, read from memory once less."""
    readers = graph.consumers
    ops: list[Op] = []
    absorbed: set[Op] = set()
    for op in graph.ops:
        if op in absorbed:
            continue
        found = ((reader, op.absorbed(reader)) for result in op.results for reader in readers.get(result, ()))
        reader, fused = next(((r, f) for r, f in found if f and set(op.results).issuperset(r.operands)), (op, op))
        ops.append(fused)
        absorbed.add(reader)
    return replace(graph, ops=tuple(ops)) if len(ops) < len(graph.ops) else graph
