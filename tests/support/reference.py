"""Running a TFLite model on the operators' own numpy references."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array


def import_model(model: bytes) -> Graph:
    """The graph of a model in memory, as it is imported, before any pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(model)
        return import_tflite(path)


def evaluate(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of a graph by `Op.evaluate`."""
    arrays: dict[Tensor, Array] = dict(zip(graph.input_tensors, inputs, strict=True))
    values = Values(lambda tensor: arrays[tensor])
    for op in graph.ops:
        arrays.update(zip(op.results, op.evaluate(values), strict=True))
    return [values[tensor] for tensor in graph.output_tensors]


def agrees(found: Array, wanted: Array) -> bool:
    """Whether two results are the same; of float32, as far as C libraries and numpy agree on functions."""
    if wanted.dtype == np.float32:
        return np.allclose(found, wanted, rtol=1e-5, atol=1e-6)
    return np.array_equal(found, wanted)
