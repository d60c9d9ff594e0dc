"""Who takes only networks of which each inference stands for itself, and does the same."""

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph


def check_memoryless(graph: Graph, file: str, purpose: str) -> None:
    """Raise UnsupportedModelError where a network keeps states, or has parts that run as values say; `purpose` is what
    one without any is wanted for."""
    running = next((op for op in graph.ops if op.subgraphs), None)
    if running is not None:
        raise UnsupportedModelError(
            f"{running.source}: runs parts of the network as values say, a model that always does the same was "
            f"expected {purpose}. It can be compiled, run and validated as it is."
        )
    if graph.states:
        first = graph.states[0].tensor.name
        raise UnsupportedModelError(
            f"{file}: keeps {len(graph.states)} states from call to call ('{first}' is the first), "
            f"a model without any was expected {purpose}. It can be compiled, run and validated as it is."
        )
