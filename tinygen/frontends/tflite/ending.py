"""The part of a TFLite network that computes tensors which the user names."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tinygen.frontends.ending import check_ends, needed
from tinygen.frontends.tflite.raw import RawSubgraph


def ending_at(path: Path, subgraph: RawSubgraph, ends: Sequence[str]) -> RawSubgraph:
    """The subgraph with `ends` as outputs, without operators and inputs that these do not need; UsageError."""
    if not ends:
        return subgraph
    indices = {subgraph.tensors[index].name: index for raw in subgraph.operators for index in raw.outputs}
    check_ends(path.name, ends, indices)
    outputs = tuple(indices[name] for name in ends)
    left = [raw for raw in subgraph.operators if not raw.outputs]  # what variables are assigned
    wanted = (*outputs, *(index for raw in left for index in raw.inputs if index >= 0))
    computing, tensors = needed(subgraph.operators, wanted, lambda raw: raw.inputs, lambda raw: raw.outputs)
    operators = tuple(sorted((*computing, *left), key=lambda raw: raw.index))
    inputs = tuple(index for index in subgraph.inputs if index in tensors)
    return replace(subgraph, operators=operators, inputs=inputs, outputs=outputs)
