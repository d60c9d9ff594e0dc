"""States keep what calls read of them: no rows that are dropped at once, and parts of rows apart by their readers."""

from dataclasses import replace

from tinygen.ir.graph import Graph
from tinygen.ir.stream import State
from tinygen.ops.kept_rows import Instead, in_parts, without_dropped_rows


def keep_read_rows(graph: Graph) -> Graph:
    """States of which each call drops the oldest rows before it adds new ones become windows without them; windows that
    are read in parts, as by convolutions on groups of channels, become windows of these parts.
    """
    for state in graph.states:
        graph = _changed(graph, state, without_dropped_rows(graph, state))
    names = {tensor.name for tensor in graph.tensors} | {op.name for op in graph.ops}
    for state in graph.states:
        graph = _changed(graph, state, in_parts(graph, state, names))
    return graph


def _changed(graph: Graph, state: State, instead: Instead | None) -> Graph:
    """The graph where other states and operators, each behind all that it reads, stand for a state."""
    if instead is None:
        return graph
    states = [other for own in graph.states for other in (instead.states if own is state else (own,))]
    ops = [op for op in graph.ops if op not in instead.dropped]
    for op in instead.added:
        made = [index for index, other in enumerate(ops) if set(other.results) & set(op.variable_operands)]
        ops.insert(max(made, default=-1) + 1, op)
    return replace(graph, ops=tuple(ops), states=tuple(states))
