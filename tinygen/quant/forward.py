"""Running a float network on batches of samples, with its inner tensors."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.mapped import is_mapped, release
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.batch import batched, infer
from tinygen.ops.gather import Gather
from tinygen.ops.quantize import convert

_MAPPED_BYTES = 2 << 20  # that the system may map around a row that is read
_LOOKUPS = 128  # in mapped tables, before that memory is given back


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
        self._at_once = samples_at_once(graph)
        self._batched = lru_cache(maxsize=4)(lambda count: batched(graph, count))

    def run(self, inputs: Sequence[Array]) -> Mapping[str, Array]:
        """The wanted tensors by name."""
        if self._batched(1) is not None:
            return in_parts(inputs, self._at_once, self._infer_batch)
        samples = [self._infer(self._graph, sample) for sample in zip(*inputs, strict=True)]
        return {name: joined([sample[name] for sample in samples]) for name in samples[0]}

    def _infer_batch(self, inputs: Sequence[Array]) -> dict[str, Array]:
        whole = self._batched(len(inputs[0]))
        assert whole is not None
        return self._infer(whole, inputs)

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

        def observe(op: Op, results: Sequence[Array], values: Values) -> None:
            found.update((passed_name(tensor), array) for tensor, array in op.passed(values).items())
            found.update((t.name, r) for t, r in zip(op.results, results, strict=True) if t.name in self._wanted)
            for operand in op.operands:
                if operand.data is not None:
                    release(operand.data)

        infer(graph, arrays, observe)
        return found


def passed_name(tensor: Tensor) -> str:
    """Under which what a tensor held before its last value is given, beside the tensors that are wanted."""
    return f"{tensor.name}:passed"


def samples_at_once(graph: Graph) -> int | None:
    """How many samples may be computed before the memory of mapped tables is given back; None where there are none."""
    lookups = sum(op.indices.type.elements for op in graph.ops if isinstance(op, Gather) and _is_large(op.input.data))
    return max(1, _LOOKUPS // lookups) if lookups else None


def _is_large(table: Array | None) -> bool:
    return table is not None and table.nbytes >= _MAPPED_BYTES and is_mapped(table)


def in_parts(
    inputs: Sequence[Array], at_once: int | None, run: Callable[[Sequence[Array]], dict[str, Array]]
) -> dict[str, Array]:
    """What `run` gives for samples, at most so many at a time; None: for all together."""
    count = len(inputs[0])
    if at_once is None or count <= at_once:
        return run(inputs)
    parts = [run([array[first : first + at_once] for array in inputs]) for first in range(0, count, at_once)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def joined(samples: Sequence[Array]) -> Array:
    """One array of the values of several samples; an axis of 1 at the front counts them."""
    return np.concatenate(samples) if samples[0].shape[:1] == (1,) else np.stack(samples)


def forward_of(graph: Graph, wanted: Sequence[str]) -> Forward:
    """onnxruntime where it is installed and takes the network; numpy otherwise."""
    module = import_module("tinygen.quant.onnx_forward")  # loads onnx: only when it is needed
    if module.is_available():
        try:
            forward: Forward = module.OnnxForward(graph, wanted)
            return forward
        except UnsupportedModelError:  # an operator that ONNX lacks
            pass
    return NumpyForward(graph, wanted)
