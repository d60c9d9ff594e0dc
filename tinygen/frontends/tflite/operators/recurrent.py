"""Operators with states of their own."""

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp
from tinygen.ops.lstm import LSTM_FUNCTIONS, Lstm
from tinygen.ops.svdf import Svdf

_TANH = tflite.ActivationFunctionType.TANH
_ABSENT = {"peepholes": (9, 10, 11), "a projection": (16, 17), "layer norms": (20, 21, 22, 23)}


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


def read_lstm(node: Node) -> Lstm:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: int8, int16 and float32, as TFLite Micro's reference kernel has it."""
    options = node.options(tflite.UnidirectionalSequenceLSTMOptions)
    if options.FusedActivationFunction() != _TANH:
        raise UnsupportedError(f"has activation {options.FusedActivationFunction()}, {_TANH} (TANH) was expected")
    for role, positions in _ABSENT.items():
        if any(node.optional_input(position) is not None for position in positions):
            raise UnsupportedError(f"has {role}, none were expected")
    if options.ProjClip():
        raise UnsupportedError(f"clips projections to {options.ProjClip()}, 0 (none) was expected")
    output = node.output()
    hidden, hidden_after = state_of(node, 18)
    cell, cell_after = state_of(node, 19)
    return Lstm(
        name=node.name,
        source=node.source,
        input=node.input(0),
        lengths=None,
        kernels=tuple(node.input(position) for position in range(1, 5)),
        recurrent=tuple(node.input(position) for position in range(5, 9)),
        biases=tuple(node.input(position) for position in range(12, 16)),
        hidden=hidden,
        cell=cell,
        outputs=(hidden_after, cell_after, output),
        is_time_major=bool(options.TimeMajor()),
        is_reversed=False,
        is_kept=True,
        gate_clip=0.0,
        functions=LSTM_FUNCTIONS,
        cell_clip=options.CellClip(),
    )


def state_of(node: Node, position: int) -> tuple[Tensor, Tensor]:
    """A variable tensor of the operator's own, and what it becomes."""
    tensor, index = node.input(position), node.raw.inputs[position]
    if tensor.is_constant or index not in node.memory.variables:
        raise UnsupportedError(f"input {position} '{tensor.name}' is no variable tensor of its own, one was expected")
    node.memory.variables.remove(index)
    return tensor, node.intermediate(tensor, "next", tensor.shape)


READERS: Readers = {"SVDF": read_svdf, "UNIDIRECTIONAL_SEQUENCE_LSTM": read_lstm}
