"""Who takes only networks of which each inference stands for itself."""

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph


def check_memoryless(graph: Graph, file: str, purpose: str) -> None:
    """Raise UnsupportedModelError where a network keeps states; `purpose` is what one without any is wanted for."""
    if graph.states:
        first = graph.states[0].tensor.name
        raise UnsupportedModelError(
            f"{file}: keeps {len(graph.states)} states from call to call ('{first}' is the first), "
            f"a model without any was expected {purpose}. It can be compiled, run and validated as it is."
        )
