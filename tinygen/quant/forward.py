"""Running a float network on batches of samples, with its inner tensors."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.types import Array
from tinygen.ops.batch import batched, infer
from tinygen.ops.quantize import convert


class Forward(Protocol):
    """Computes tensors of a network."""

    @property
    def name(self) -> str:
        """What computes them, for messages."""

    def run(self, inputs: Sequence[Array]) -> Mapping[str, Array]:
        """The wanted tensors by name, for one array of samples per input; the first axis counts samples."""


class NumpyForward:
    """The network's own references; several samples at once where its operators allow that."""

    name = "numpy"

    def __init__(self, graph: Graph, wanted: Sequence[str]) -> None:
        self._graph = graph
        self._wanted = frozenset(wanted)
        self._batched = lru_cache(maxsize=2)(lambda count: batched(graph, count))

    def run(self, inputs: Sequence[Array]) -> Mapping[str, Array]:
        """The wanted tensors by name."""
        whole = self._batched(len(inputs[0]))
        if whole is not None:
            return self._infer(whole, inputs)
        samples = [self._infer(self._graph, sample) for sample in zip(*inputs, strict=True)]
        return {name: joined([sample[name] for sample in samples]) for name in samples[0]}

    def _infer(self, graph: Graph, inputs: Sequence[Array]) -> dict[str, Array]:
        arrays = [
            convert(values.reshape(port.tensor.shape), port.external, port.tensor.type)
            for port, values in zip(graph.inputs, inputs, strict=True)
        ]
        found = {
            tensor.name: array
            for tensor, array in zip(graph.input_tensors, arrays, strict=True)
            if tensor.name in self._wanted
        }

        def observe(op: Op, results: Sequence[Array]) -> None:
            found.update((t.name, r) for t, r in zip(op.results, results, strict=True) if t.name in self._wanted)

        infer(graph, arrays, observe)
        return found


def joined(samples: Sequence[Array]) -> Array:
    """One array of the values of several samples; an axis of 1 at the front counts them."""
    return np.concatenate(samples) if samples[0].shape[:1] == (1,) else np.stack(samples)
