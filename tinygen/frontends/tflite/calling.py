"""Subgraphs that operators run."""

from collections.abc import Sequence

from tinygen.frontends.tflite.node import UnsupportedError
from tinygen.frontends.tflite.raw import RawModel, RawSubgraph

_DEEPEST = 16  # subgraphs inside of each other


def called(model: RawModel, index: int, callers: Sequence[RawSubgraph]) -> RawSubgraph:
    """The subgraph of that number, which the last of `callers` runs; UnsupportedError where it cannot."""
    if not 0 < index < len(model.subgraphs):
        raise UnsupportedError(f"runs subgraph {index}, 1 to {len(model.subgraphs) - 1} were expected")
    subgraph = model.subgraphs[index]
    if subgraph in callers:
        raise UnsupportedError(f"runs subgraph {index}, which runs itself by that, another one was expected")
    if len(callers) > _DEEPEST:
        raise UnsupportedError(
            f"is the {len(callers)}th of operators inside of each other, at most {_DEEPEST} were expected"
        )
    return subgraph
