"""Evaluates while compiling what does not depend on the inputs."""

from dataclasses import replace

from tinygen.budget import FOLDED_BYTES, Account
from tinygen.ir.graph import Graph
from tinygen.ops.fold import fold


def fold_constants(graph: Graph) -> Graph:
    """Replace results of operators with constant operands, and shapes, by constants."""
    ops, known = fold(graph.ops, Account(FOLDED_BYTES), written={state.window for state in graph.states})
    if not known:
        return graph
    return replace(graph, ops=ops).replace_tensors(known)
