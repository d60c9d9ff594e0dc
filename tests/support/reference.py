"""Running a TFLite model on the operators' own numpy references."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

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
