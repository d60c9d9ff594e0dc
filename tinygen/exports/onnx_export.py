"""A graph as an ONNX model: float32, or quantized between QuantizeLinear and DequantizeLinear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from tinygen.errors import UnsupportedModelError
from tinygen.exports.onnx_operators import NotWrittenError, write
from tinygen.exports.onnx_writer import ImageOrder, OnnxWriter
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.batch import batched


@dataclass(frozen=True)
class Watched:
    """A model with inner tensors among its outputs."""

    model: onnx.ModelProto
    names: Mapping[str, tuple[str, ImageOrder]]  # by the name of an inner tensor: output, and order of its axes
    fed: Mapping[str, Array]  # constants that are inputs of the model


def export_onnx(graph: Graph) -> onnx.ModelProto:
    """The model, inputs and outputs float32 with axes as in the graph; UnsupportedModelError."""
    return export_watched(graph, (), feeds=False).model


def export_watched(graph: Graph, inner: Sequence[Tensor], feeds: bool = True) -> Watched:
    """The model with `inner` tensors as outputs too, which are no inputs, and large tables as inputs, if it `feeds`
    them. UnsupportedModelError.
    """
    names = {port.tensor: port.name for port in graph.outputs}
    writer = OnnxWriter(graph.name, batched(graph, 1) is not None, names, feeds)
    inputs = [writer.input(port.tensor, port.name) for port in graph.inputs]
    for op in graph.ops:
        try:
            write(op, writer)
        except NotWrittenError as error:
            raise UnsupportedModelError(
                f"{error}, an operator that ONNX has too was expected. Compile the model instead."
            ) from None
    outputs = [writer.output(port.tensor, port.name) for port in graph.outputs]
    watched = {tensor.name: writer.watch(tensor) for tensor in inner}
    taken = {info.name for info in outputs}
    extra = {info.name: info for info, _ in watched.values() if info.name not in taken}
    model = writer.finish(inputs, [*outputs, *extra.values()])
    return Watched(model, {name: (info.name, layout) for name, (info, layout) in watched.items()}, writer.fed)
