"""Operators with states of their own."""

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp
from tinygen.ops.svdf import Svdf


def read_svdf(node: Node) -> Svdf:
    """SVDF: int8 with a state of int8 or int16, as TFLite Micro's reference kernel has it, and float32."""
    options = node.options(tflite.SVDFOptions)
    output = node.output()
    state, after = state_of(node, 4)
    is_real = output.type.dtype.is_real  # kernels for integers ignore the activation
    return Svdf(
        name=node.name,
        source=node.source,
        input=node.input(0),
        features=node.input(1),
        times=node.input(2),
        bias=node.optional_input(3),
        state=state,
        outputs=(after, output),
        rank=options.Rank(),
        limits=fused_clamp(options.FusedActivationFunction(), output) if is_real else Clamp.none(output.type),
    )


def state_of(node: Node, position: int) -> tuple[Tensor, Tensor]:
    """A variable tensor of the operator's own, and what it becomes."""
    tensor, index = node.input(position), node.raw.inputs[position]
    if tensor.is_constant or index not in node.memory.variables:
        raise UnsupportedError(f"input {position} '{tensor.name}' is no variable tensor of its own, one was expected")
    node.memory.variables.remove(index)
    return tensor, node.intermediate(tensor, "next", tensor.shape)


READERS: Readers = {"SVDF": read_svdf}
