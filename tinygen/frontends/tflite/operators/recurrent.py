"""Operators with states of their own."""

from dataclasses import dataclass
from math import inf
from typing import Any

import tflite

from tinygen.frontends.tflite.activation import fused_clamp
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.stored import as_stored
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.gate_function import TANH, GateFunction, GateKind
from tinygen.ops.lstm import LSTM_FUNCTIONS, Lstm
from tinygen.ops.rnn import Rnn
from tinygen.ops.svdf import Svdf

_TANH = tflite.ActivationFunctionType.TANH
_ABSENT = {"peepholes": (9, 10, 11), "a projection": (16, 17), "layer norms": (20, 21, 22, 23)}
_FUNCTIONS = {
    tflite.ActivationFunctionType.NONE: GateFunction(GateKind.AFFINE, (1.0, 0.0)),
    tflite.ActivationFunctionType.RELU: GateFunction(GateKind.RELU, (0.0, inf)),
    tflite.ActivationFunctionType.RELU_N1_TO_1: GateFunction(GateKind.RELU, (-1.0, 1.0)),
    tflite.ActivationFunctionType.RELU6: GateFunction(GateKind.RELU, (0.0, 6.0)),
    tflite.ActivationFunctionType.TANH: TANH,
}


@dataclass(frozen=True)
class _Slots:
    """Where the operands of a direction stand."""

    first: int  # of the weights of the input gate; those of the others, recurrent ones, peepholes and biases follow
    hidden: int
    cell: int


_FORWARD, _BACKWARD = _Slots(1, 35, 36), _Slots(18, 37, 38)
_ONE_DIRECTION = _Slots(1, 18, 19)
_AUXILIARY = tuple(range(39, 48))


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
    for role, positions in _ABSENT.items():
        if any(node.optional_input(position) is not None for position in positions):
            raise UnsupportedError(f"has {role}, none were expected")
    return _lstm(node, options, _ONE_DIRECTION, node.output(), is_reversed=False)


def read_bidirectional_lstm(node: Node) -> tuple[Op, ...]:
    """BIDIRECTIONAL_SEQUENCE_LSTM: float32, without peepholes, projection and auxiliary input."""
    options = node.options(tflite.BidirectionalSequenceLSTMOptions)
    for slots in (_FORWARD, _BACKWARD):
        for role, offsets in (("peepholes", (8, 9, 10)), ("a projection", (15, 16))):
            if any(node.optional_input(slots.first + offset) is not None for offset in offsets):
                raise UnsupportedError(f"has {role}, none were expected")
    _check_real(node, _AUXILIARY)
    parts = _parts(node, options.MergeOutputs())
    ops = (
        _lstm(node, options, _FORWARD, parts[0], is_reversed=False),
        _lstm(node, options, _BACKWARD, parts[1], is_reversed=True),
    )
    return (*ops, *_merged(node, parts))


def read_rnn(node: Node) -> Rnn:
    """UNIDIRECTIONAL_SEQUENCE_RNN: float32."""
    _check_real(node, ())
    options = node.options(tflite.SequenceRNNOptions)
    return _rnn(node, options, 1, node.output(), is_reversed=False)


def read_bidirectional_rnn(node: Node) -> tuple[Op, ...]:
    """BIDIRECTIONAL_SEQUENCE_RNN: float32, without auxiliary input."""
    options = node.options(tflite.BidirectionalSequenceRNNOptions)
    _check_real(node, (9, 10, 11))
    parts = _parts(node, options.MergeOutputs())
    ops = (
        _rnn(node, options, 1, parts[0], is_reversed=False),
        _rnn(node, options, 5, parts[1], is_reversed=True),
    )
    return (*ops, *_merged(node, parts))


def _lstm(node: Node, options: Any, slots: _Slots, output: Tensor, is_reversed: bool) -> Lstm:
    """The operator of a direction."""
    if options.FusedActivationFunction() != _TANH:
        raise UnsupportedError(f"has activation {options.FusedActivationFunction()}, {_TANH} (TANH) was expected")
    if options.ProjClip():
        raise UnsupportedError(f"clips projections to {options.ProjClip()}, 0 (none) was expected")
    hidden, hidden_after = state_of(node, slots.hidden)
    cell, cell_after = state_of(node, slots.cell)
    kernels, recurrent, biases = (
        tuple(node.input(slots.first + offset + gate) for gate in range(4)) for offset in (0, 4, 11)
    )
    return Lstm(
        name=output.name,
        source=node.source,
        input=node.input(0),
        lengths=None,
        kernels=kernels,
        recurrent=recurrent,
        biases=biases,
        hidden=hidden,
        cell=cell,
        outputs=(hidden_after, cell_after, output),
        is_time_major=bool(options.TimeMajor()),
        is_reversed=is_reversed,
        is_kept=True,
        gate_clip=0.0,
        functions=LSTM_FUNCTIONS,
        cell_clip=options.CellClip(),
    )


def _rnn(node: Node, options: Any, first: int, output: Tensor, is_reversed: bool) -> Rnn:
    """The operator of a direction, whose weights, recurrent weights, bias and state stand from `first` on."""
    function = _FUNCTIONS.get(options.FusedActivationFunction())
    if function is None:
        raise UnsupportedError(f"has activation {options.FusedActivationFunction()}, one of TFLite's was expected")
    hidden, after = state_of(node, first + 3)
    return Rnn(
        name=output.name,
        source=node.source,
        input=node.input(0),
        lengths=None,
        kernels=(node.input(first),),
        recurrent=(node.input(first + 1),),
        biases=(node.input(first + 2),),
        hidden=hidden,
        outputs=(after, output),
        is_time_major=bool(options.TimeMajor()),
        is_reversed=is_reversed,
        is_kept=True,
        gate_clip=0.0,
        functions=(function,),
    )


def _check_real(node: Node, absent: tuple[int, ...]) -> None:
    """What has kernels of float32 alone; without an auxiliary input, whose operands would stand there."""
    for tensor in (node.input(0), node.input(1), node.output()):
        if not tensor.type.dtype.is_real:
            raise UnsupportedError(f"'{tensor.name}' is {tensor.type.dtype.value}, f32 was expected")
    if any(node.optional_input(position) is not None for position in absent):
        raise UnsupportedError("has an auxiliary input, none was expected")


def _parts(node: Node, is_merged: bool) -> tuple[Tensor, Tensor]:
    """The results of both directions."""
    if not is_merged:
        return node.output(0), node.output(1)
    whole = node.output()
    shape = (*whole.shape[:-1], whole.shape[-1] // 2 if whole.shape else 0)
    forward, backward = (node.intermediate(whole, role, shape) for role in ("forward", "backward"))
    return forward, backward


def _merged(node: Node, parts: tuple[Tensor, Tensor]) -> tuple[Concat, ...]:
    """Both results as one, where the operator has one."""
    if parts[0] is node.output():
        return ()
    axis = len(node.output().shape) - 1
    return (Concat(name=node.name, source=node.source, inputs=parts, output=node.output(), axis=axis),)


def state_of(node: Node, position: int) -> tuple[Tensor, Tensor]:
    """A variable tensor of the operator's own, and what it becomes."""
    tensor, index = node.input(position), node.raw.inputs[position]
    if tensor.is_constant or index not in node.memory.variables:
        raise UnsupportedError(f"input {position} '{tensor.name}' is no variable tensor of its own, one was expected")
    node.memory.variables.remove(index)
    return tensor, node.intermediate(tensor, "next", tensor.shape)


READERS: Readers = as_stored(
    {
        "BIDIRECTIONAL_SEQUENCE_LSTM": read_bidirectional_lstm,
        "BIDIRECTIONAL_SEQUENCE_RNN": read_bidirectional_rnn,
        "SVDF": read_svdf,
        "UNIDIRECTIONAL_SEQUENCE_LSTM": read_lstm,
        "UNIDIRECTIONAL_SEQUENCE_RNN": read_rnn,
    },
    {
        "UNIDIRECTIONAL_SEQUENCE_LSTM": _ONE_DIRECTION.hidden,  # whose integers are those of the result
    },
)
