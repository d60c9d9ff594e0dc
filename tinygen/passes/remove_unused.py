"""Removes operators whose results nobody needs."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor


def remove_unused(graph: Graph) -> Graph:
    """Keep the operators and the states that an output of the model depends on, in this call or a later one."""
    states: tuple[State, ...] = ()
    while True:
        kept, needed = _needed(graph, {*graph.output_tensors, *(state.window for state in states)})
        found = tuple(state for state in graph.states if state.tensor in needed)
        if found == states:
            break
        states = found
    if len(kept) == len(graph.ops) and states == graph.states:
        return graph
    return replace(graph, ops=kept, states=states)


def _needed(graph: Graph, wanted: set[Tensor]) -> tuple[tuple[Op, ...], set[Tensor]]:
    """The operators that some tensors depend on, and all tensors that these take."""
    needed, kept = set(wanted), list[Op]()
    for op in reversed(graph.ops):
        if needed.intersection(op.results):
            needed.update(op.operands)
            kept.append(op)
    return tuple(reversed(kept)), needed
