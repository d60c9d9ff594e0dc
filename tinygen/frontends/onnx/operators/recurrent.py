"""Layers over a sequence: LSTM, GRU and RNN, one operator of the IR for each direction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Known, Placed, Quantized, Value
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType
from tinygen.ops.concat import Concat
from tinygen.ops.gate_function import LOGISTIC, TANH, GateFunction, GateKind
from tinygen.ops.gru import Gru
from tinygen.ops.lstm import Lstm
from tinygen.ops.recurrent import Recurrent
from tinygen.ops.rnn import Rnn
from tinygen.ops.slice import Slice

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_LSTM_ROWS = (0, 2, 3, 1)  # where input, forget, cell and output gate stand
_PEEPHOLES = (0, 2, 1)  # where those of input, forget and output gate stand
_GRU_ROWS = (0, 1, 2)
_RNN_ROWS = (0,)


@dataclass(frozen=True)
class _Function:
    """A function by its name in the format: its parameters, and those that it has where none are given."""

    kind: GateKind
    takes: tuple[str, ...] = ()  # lists of parameters that it takes the next one of
    defaults: tuple[float, ...] = ()  # empty where the format has none
    fixed: tuple[float, ...] = ()


_ALPHA, _BETA = "activation_alpha", "activation_beta"
_FUNCTIONS: Mapping[str, _Function] = {
    "affine": _Function(GateKind.AFFINE, (_ALPHA, _BETA)),
    "elu": _Function(GateKind.ELU, (_ALPHA,), (1.0,)),
    "hardsigmoid": _Function(GateKind.HARD_SIGMOID, (_ALPHA, _BETA), (0.2, 0.5)),
    "leakyrelu": _Function(GateKind.LEAKY_RELU, (_ALPHA,), (0.01,)),
    "relu": _Function(GateKind.RELU, fixed=(0.0, float("inf"))),
    "scaledtanh": _Function(GateKind.SCALED_TANH, (_ALPHA, _BETA)),
    "sigmoid": _Function(GateKind.LOGISTIC),
    "softplus": _Function(GateKind.SOFTPLUS),
    "softsign": _Function(GateKind.SOFTSIGN),
    "tanh": _Function(GateKind.TANH),
    "thresholdedrelu": _Function(GateKind.THRESHOLDED_RELU, (_ALPHA,), (1.0,)),
}


@dataclass(frozen=True, eq=False)
class _Weights:
    """Of one direction: a matrix and a bias for each gate, in the order of the file."""

    kernels: tuple[Array, ...]
    recurrent: tuple[Array, ...]
    input_biases: tuple[Float32Array, ...]
    hidden_biases: tuple[Float32Array, ...]


Make = Callable[["_Layer", int, dict[str, Any]], Recurrent]  # of a direction, with the fields that all have


@dataclass(frozen=True, eq=False)
class _Layer:
    """A node as far as its three operators are alike."""

    node: Node
    rows: tuple[int, ...]  # where each gate of the IR's operator stands
    functions: tuple[tuple[GateFunction, ...], ...]  # of each direction
    input: Tensor
    lengths: Tensor | None
    is_time_major: bool
    units: int

    @property
    def directions(self) -> tuple[bool, ...]:
        """Of each, whether it is reversed."""
        return _DIRECTIONS[self.node.text("direction", "forward")]

    @property
    def batches(self) -> int:
        """Sequences side by side."""
        return self.input.shape[1 if self.is_time_major else 0]

    def weights(self, direction: int) -> _Weights:
        """Those of a direction; UnsupportedError where shapes do not fit."""
        gates, units, count = len(self.rows), self.units, len(self.directions)
        found = []
        for position, depth in ((1, self.input.shape[2]), (2, units)):
            whole = _constant(self.node, position, (count, gates * units, depth))
            found.append(tuple(np.split(whole[direction], gates)))
        bias = np.zeros(2 * gates * units, np.float32)
        if self.node.has_input(3):
            bias = _constant(self.node, 3, (count, 2 * gates * units))[direction].astype(np.float32)
        parts = tuple(np.split(bias, 2 * gates))
        return _Weights(found[0], found[1], parts[:gates], parts[gates:])

    def constants(self, role: str, direction: int, arrays: tuple[Array, ...]) -> tuple[Tensor, ...]:
        """Tensors of the arrays of all gates, in the IR's order."""
        return tuple(self.constant(f"{role}{direction}.{number}", arrays[row]) for number, row in enumerate(self.rows))

    def constant(self, role: str, array: Array) -> Tensor:
        """A float32 constant."""
        name = self.node.builder.derive(self.node.output_name, role)
        return self.node.builder.constant(name, array.astype(np.float32, copy=False))

    def initial(self, position: int, direction: int) -> Tensor:
        """What a state of a direction begins with, [batches, units]: zeros where the input is absent."""
        shape = (self.batches, self.units)
        count = len(self.directions)
        if not self.node.has_input(position):
            return self.constant(f"zeros{position}.{direction}", np.zeros(shape, np.float32))
        axis = 0 if self.is_time_major else 1
        whole = self.node.builder.plain(self.node.quantized(position))
        expected = _with_axis(shape, axis, count)
        if whole.shape != expected:
            raise UnsupportedError(f"input {position} has shape {list(whole.shape)}, {list(expected)} was expected")
        if whole.data is not None:
            return self.constant(f"initial{position}.{direction}", whole.data.take([direction], axis).reshape(shape))
        if count > 1:
            whole = self._part(whole, axis, direction)
        name = self.node.builder.derive(self.node.output_name, f"initial{position}.{direction}")
        return self.node.builder.reshaped(whole, shape, name, self.node.source)

    def _part(self, whole: Tensor, axis: int, index: int) -> Tensor:
        shape = tuple(1 if number == axis else size for number, size in enumerate(whole.shape))
        begin = tuple(index if number == axis else 0 for number in range(len(shape)))
        name = self.node.builder.derive(self.node.output_name, f"{whole.name}.{index}")
        output = self.node.builder.result(name, shape, None)
        op = Slice(
            name=name, source=self.node.source, input=whole, output=output, begin=begin, strides=(1,) * len(shape)
        )
        return self.node.emit(op, tuple(range(len(shape)))).tensor

    def joined(self, position: int, parts: list[Tensor], axis: int) -> Value:
        """An output of the node: one tensor for each direction, along a new axis."""
        builder, name = self.node.builder, self.node.raw.outputs[position]
        shape = _with_axis(parts[0].shape, axis, 1)
        order = tuple(range(len(shape)))
        builder.layouts[name] = order
        if len(parts) == 1:
            return Quantized(Placed(builder.reshaped(parts[0], shape, builder.claim(name), self.node.source), order))
        inputs = tuple(
            builder.reshaped(part, shape, builder.derive(part.name, "direction"), self.node.source) for part in parts
        )
        output = builder.result(builder.claim(name), _with_axis(parts[0].shape, axis, len(parts)), None)
        return Quantized(
            self.node.emit(
                Concat(name=output.name, source=self.node.source, inputs=inputs, output=output, axis=axis), order
            )
        )


def read_lstm(node: Node) -> tuple[Value, ...]:
    """LSTM of float32: all directions, layouts, activations, peepholes, clip, lengths and initial states."""
    layer = _layer(node, _LSTM_ROWS, (LOGISTIC, TANH, TANH))
    return _read(layer, _lstm, states=2)


def read_gru(node: Node) -> tuple[Value, ...]:
    """GRU of float32: all directions, layouts, activations, clip, lengths and initial states, linear_before_reset."""
    return _read(_layer(node, _GRU_ROWS, (LOGISTIC, TANH)), _gru, states=1)


def read_rnn(node: Node) -> tuple[Value, ...]:
    """RNN of float32: all directions, layouts, activations, clip, lengths and initial states."""
    return _read(_layer(node, _RNN_ROWS, (TANH,)), _rnn, states=1)


def _layer(node: Node, rows: tuple[int, ...], defaults: tuple[GateFunction, ...]) -> _Layer:
    node.computes_real("goes through a sequence with states in float32")
    direction = node.text("direction", "forward")
    if direction not in _DIRECTIONS:
        raise UnsupportedError(f"direction is '{direction}', {', '.join(_DIRECTIONS)} was expected")
    layout = node.integer("layout", 0)
    if layout not in (0, 1):
        raise UnsupportedError(f"layout is {layout}, 0 or 1 was expected")
    input = node.builder.plain(node.activation(0))
    if len(input.shape) != 3 or 0 in input.shape:
        raise UnsupportedError(f"input has shape {list(input.shape)}, three dimensions were expected")
    recurrent = node.shape(2)
    units = node.integer("hidden_size", recurrent[-1] if recurrent else 0)
    if units < 1 or len(recurrent) != 3 or recurrent[-1] != units:
        raise UnsupportedError(f"recurrent weights have shape {list(recurrent)}, [.., .., {units}] was expected")
    is_time_major = layout == 0
    batches, steps = input.shape[::-1][1:] if is_time_major else input.shape[:2]
    functions = _functions(node, len(_DIRECTIONS[direction]), defaults)
    return _Layer(node, rows, functions, input, _lengths(node, batches, steps), is_time_major, units)


def _read(layer: _Layer, make: Make, states: int) -> tuple[Value, ...]:
    """The outputs of the node: hidden states of all steps, then the last states."""
    ops = []
    for direction, is_reversed in enumerate(layer.directions):
        fields = _fields(layer, direction, is_reversed, states)
        ops.append(make(layer, direction, fields))
        layer.node.builder.add(ops[-1])
    found = list[Value]()
    for position in range(1 + states):
        if position >= len(layer.node.raw.outputs) or not layer.node.raw.outputs[position]:
            found.append(Known(np.zeros(0, np.float32)))  # nothing reads what has no name
            continue
        is_whole = position == 0
        parts = [op.result if is_whole else op.outputs[position - 1] for op in ops]
        axis = (1 if is_whole else 0) if layer.is_time_major else (2 if is_whole else 1)
        found.append(layer.joined(position, parts, axis))
    return tuple(found)


def _fields(layer: _Layer, direction: int, is_reversed: bool, states: int) -> dict[str, Any]:
    node = layer.node
    weights = layer.weights(direction)
    name = node.builder.derive(node.output_name, "forward" if not is_reversed else "reverse")
    state_type = TensorType(DType.FLOAT32, (layer.batches, layer.units))
    lasts = [Tensor(node.builder.derive(name, f"last{number}"), state_type) for number in range(states)]
    sequence = Tensor(name, TensorType(DType.FLOAT32, (*layer.input.shape[:2], layer.units)))
    both = tuple(a + b for a, b in zip(weights.input_biases, weights.hidden_biases, strict=True))
    clip = node.number("clip", 0.0)
    if clip < 0:
        raise UnsupportedError(f"clip is {clip}, a number of 0 or more was expected")
    return {
        "name": name,
        "source": node.source,
        "input": layer.input,
        "lengths": layer.lengths,
        "kernels": layer.constants("kernel", direction, weights.kernels),
        "recurrent": layer.constants("recurrent", direction, weights.recurrent),
        "biases": layer.constants("bias", direction, both),
        "hidden": layer.initial(5, direction),
        "outputs": (*lasts, sequence),
        "is_time_major": layer.is_time_major,
        "is_reversed": is_reversed,
        "is_kept": False,
        "gate_clip": clip,
        "functions": layer.functions[direction],
    }


def _lstm(layer: _Layer, direction: int, fields: dict[str, Any]) -> Recurrent:
    peepholes: tuple[Tensor, ...] = ()
    if layer.node.has_input(7):
        shape = (len(layer.directions), 3 * layer.units)
        parts = np.split(_constant(layer.node, 7, shape)[direction], 3)
        if any(part.any() for part in parts):
            peepholes = tuple(layer.constant(f"peephole{direction}.{row}", parts[row]) for row in _PEEPHOLES)
    is_coupled = layer.node.integer("input_forget", 0) != 0
    _check_cell(layer)
    cell = layer.initial(6, direction)
    return Lstm(**fields, cell=cell, cell_clip=0.0, peepholes=peepholes, is_coupled=is_coupled)


def _check_cell(layer: _Layer) -> None:
    """UnsupportedError for cells of another size than hidden states: the operator has no projection between them."""
    if not layer.node.has_input(6):
        return
    size = layer.node.builder.plain(layer.node.quantized(6)).shape[-1:]
    if size != (layer.units,):
        raise UnsupportedError(
            f"initial_c has {size[0] if size else 0} elements where hidden states have {layer.units}: that is a "
            "projection (PyTorch's proj_size), which ONNX's LSTM has no input for. Export the network without it"
        )


def _gru(layer: _Layer, direction: int, fields: dict[str, Any]) -> Recurrent:
    if layer.node.integer("linear_before_reset", 0) == 0:
        return Gru(**fields, hidden_bias=None, is_reset_behind=False)
    weights = layer.weights(direction)
    *biases, _ = fields["biases"]
    last = layer.constant(f"new_bias{direction}", weights.input_biases[2])
    hidden_bias = layer.constant(f"hidden_bias{direction}", weights.hidden_biases[2])
    return Gru(**{**fields, "biases": (*biases, last)}, hidden_bias=hidden_bias, is_reset_behind=True)


def _rnn(layer: _Layer, direction: int, fields: dict[str, Any]) -> Recurrent:  # noqa: ARG001 - as the others
    return Rnn(**fields)


def _functions(node: Node, directions: int, defaults: tuple[GateFunction, ...]) -> tuple[tuple[GateFunction, ...], ...]:
    """The functions of each direction, with parameters taken from the lists in order."""
    names = node.raw.attributes.get("activations")
    if names is None:
        return (defaults,) * directions
    if not isinstance(names, tuple) or len(names) != directions * len(defaults):
        raise UnsupportedError(f"activations are {names}, {directions * len(defaults)} names were expected")
    lists = {name: list(_numbers(node, name)) for name in (_ALPHA, _BETA)}
    found = tuple(_function(str(name), lists) for name in names)
    return tuple(found[first : first + len(defaults)] for first in range(0, len(found), len(defaults)))


def _function(name: str, lists: Mapping[str, list[float]]) -> GateFunction:
    known = _FUNCTIONS.get(name.lower())
    if known is None:
        raise UnsupportedError(f"an activation is '{name}', one of {', '.join(sorted(_FUNCTIONS))} was expected")
    parameters = []
    for number, listed in enumerate(known.takes):
        if lists[listed]:
            parameters.append(lists[listed].pop(0))
        elif known.defaults:
            parameters.append(known.defaults[number])
        else:
            raise UnsupportedError(f"activation '{name}' has no {listed}, a number was expected")
    return GateFunction(known.kind, (*parameters, *known.fixed))


def _numbers(node: Node, name: str) -> tuple[float, ...]:
    value = node.raw.attributes.get(name, ())
    if not isinstance(value, tuple) or not all(isinstance(n, int | float) and np.isfinite(n) for n in value):
        raise UnsupportedError(f"attribute '{name}' is no list of finite numbers")
    return tuple(float(number) for number in value)


def _lengths(node: Node, batches: int, steps: int) -> Tensor | None:
    """Elements of each sequence; None where all of them are whole."""
    if not node.has_input(4):
        return None
    value = node.value(4)
    if isinstance(value, Discrete):
        lengths = node.builder.plain(value.placed)
        if lengths.shape != (batches,):
            raise UnsupportedError(f"sequence_lens have shape {list(lengths.shape)}, [{batches}] was expected")
        return lengths
    numbers = node.integers(4, "sequence_lens")
    if len(numbers) != batches or not all(0 <= number <= steps for number in numbers):
        raise UnsupportedError(f"sequence_lens are {list(numbers)}, {batches} from 0 to {steps} were expected")
    if all(number == steps for number in numbers):
        return None
    return node.builder.constant(node.builder.derive(node.output_name, "lengths"), np.array(numbers, np.int32))


def _constant(node: Node, position: int, shape: tuple[int, ...]) -> Array:
    """A float32 constant of that shape."""
    data = node.builder.plain(node.weights(position)).data
    if data is None or data.shape != shape:
        own = None if data is None else list(data.shape)
        raise UnsupportedError(f"input {position} has shape {own}, {list(shape)} was expected")
    return data


def _with_axis(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])


READERS: Readers = {"GRU": read_gru, "LSTM": read_lstm, "RNN": read_rnn}
