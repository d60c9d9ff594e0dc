"""What is asked of a network whose weights are to lose little: what they meet, and what its scores lose."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from tinygen.compress.moments import Moments, Reals
from tinygen.compress.samples import Given, open_samples
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.weighted import Weighted
from tinygen.quant.dataset import DEFAULT_SAMPLES
from tinygen.quant.forward import forward_of
from tinygen.quant.metric import scores_tensor

MOST_POSITIONS: Final = 1 << 12  # of a sample at which the inputs of a layer are looked at
MOST_SCORED: Final = 64  # samples on which scores are compared


@dataclass(frozen=True)
class Inputs:
    """Of weights: how many inputs an output has, and how many groups of outputs have inputs of their own."""

    groups: int
    count: int


class SampledNetwork(Protocol):
    """A network on samples. Weights are known by their names."""

    def inputs_of(self, name: str) -> Inputs | None:
        """What weights are multiplied with; None where that is no vector for each output."""

    def moments(self, names: Sequence[str]) -> Mapping[str, Moments]:
        """Those of the inputs of weights that have such."""

    def noise(self, name: str, values: Array) -> float:
        """Squared error of the scores over their squares, where these weights have other values."""


class GraphNetwork:
    """A graph of real numbers."""

    def __init__(self, graph: Graph, given: Given) -> None:
        """UsageError where samples do not fit its inputs."""
        self._graph = graph
        self._samples = open_samples(given, graph.inputs, DEFAULT_SAMPLES)
        self._readers = {
            tensor.name: [op for op in readers if isinstance(op, Weighted) and op.weights is tensor]
            for tensor, readers in graph.consumers.items()
            if tensor.data is not None
        }
        self._weights = {tensor.name: tensor for tensor in graph.consumers if tensor.data is not None}
        self._scores = scores_tensor(graph).name
        self._expected: Reals | None = None

    def inputs_of(self, name: str) -> Inputs | None:
        found = {
            Inputs(op.input_groups, op.products_per_output) if op.input_groups is not None else None
            for op in self._readers[name]
        }
        return found.pop() if len(found) == 1 else None

    def moments(self, names: Sequence[str]) -> Mapping[str, Moments]:
        inputs = {name: found for name in names if (found := self.inputs_of(name)) is not None}
        sums = {name: Moments(found.groups, found.count) for name, found in inputs.items()}
        read = {name: self._readers[name] for name in sums}
        forward = forward_of(self._graph, sorted({op.input.name for ops in read.values() for op in ops}))
        for sample in self._samples.one_by_one() if sums else ():
            values = forward.run(sample)
            for name, ops in read.items():
                for op in ops:
                    rows = op.inputs_of_weights(np.asarray(values[op.input.name], np.float64), MOST_POSITIONS)
                    sums[name].add(rows)
        return sums

    def noise(self, name: str, values: Array) -> float:
        if self._expected is None:
            self._expected = self._run({})
        weights = self._weights[name]
        return noise_of(self._run({weights: Tensor(name, weights.type, values)}), self._expected)

    def _run(self, changed: Mapping[Tensor, Tensor]) -> Reals:
        forward = forward_of(self._graph.replace_tensors(changed) if changed else self._graph, [self._scores])
        return joined(forward.run(sample)[self._scores] for sample in self._samples.one_by_one(MOST_SCORED))


def joined(scores: Iterable[Array]) -> Reals:
    """The scores of samples behind each other."""
    return np.concatenate([np.asarray(each, np.float64).reshape(-1) for each in scores])


def noise_of(found: Reals, expected: Reals) -> float:
    """Squared error over squares."""
    power = float((expected**2).sum())
    return float(((found - expected) ** 2).sum()) / max(power, 1e-30)
