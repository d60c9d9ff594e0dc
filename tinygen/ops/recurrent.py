"""Layers over a sequence, each step of which reads what the step before has left: what they have in common."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Products, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.stream import zero_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.accumulate import check_wide_bias, exact_matmul
from tinygen.ops.checks import (
    NoIntegersError,
    check_activations,
    check_dtype,
    check_per_tensor,
    check_rank,
    check_shape,
)
from tinygen.ops.gate_function import GateFunction
from tinygen.ops.precision import bias_points, offsets, requantized, weights_point
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    quantize_multiplier,
    requantize,
    requantize_wide,
    wrap_int32,
)

GATE_SCALE = 2.0**-12  # of what goes into sigmoid and tanh
UNIT_SCALE = 2.0**-15  # of what comes out of them
BY_UNITS = Multiplier(1 << 30, -14)  # 2^-15, rounded twice: of products with what comes out
ONE_TO_ONE = Multiplier(3, 0)  # from Q3.12 to the steps of the table of sigmoids
_MOST_PRODUCTS = 1 << 15  # of a gate, whose sums keep within 32 bits (48 bits of int16)
_MOST_WIDE_SHIFT = 7
_INT16 = (-(1 << 15), (1 << 15) - 1)
_SUMS = {DType.FLOAT32: DType.FLOAT32, DType.INT8: DType.INT32, DType.INT16: DType.INT64}

States = tuple[Array, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Recurrent(Op):
    """A layer over a sequence whose first state is the hidden one, which is also its output.

    What goes into a gate is W*x + b + R*h with the h of the step before. On integers the products with x and with h are
    each brought to Q3.12 and saturated, then added and saturated, as TFLite Micro's reference kernel for LSTM has it.

    A sequence shorter than the steps there are leaves zeros behind its end; its states are those of its last element,
    zeros where it has none, as onnxruntime has it.
    """

    result_range: ClassVar[Range] = Range.OWN
    gates: ClassVar[tuple[str, ...]]

    input: Tensor  # [batches, steps, inputs], or [steps, batches, inputs]; int8, int16 or float32
    lengths: Tensor | None  # [batches], int32: elements of each sequence; None where all steps are there
    kernels: tuple[Tensor, ...]  # of each gate: [units, inputs], int8 or float32
    recurrent: tuple[Tensor, ...]  # of each gate: [units, units], the same type
    biases: tuple[Tensor, ...]  # of each gate: [units], int32, of int16 int64, or float32
    hidden: Tensor  # [batches, units], of the input's type
    outputs: tuple[Tensor, ...]  # next states, then the hidden states of all steps: [.., .., units] as in the input
    is_time_major: bool
    is_reversed: bool  # the last element of each sequence comes first
    is_kept: bool  # states are those that the call before has left, and lie where it left them
    gate_clip: float  # the largest magnitude of what goes into a gate; 0 where there is none
    functions: tuple[GateFunction, ...]  # in the order of ONNX's `activations`

    @property
    def states(self) -> tuple[Tensor, ...]:
        """What the first step reads."""
        return (self.hidden,)

    @property
    def result(self) -> Tensor:
        """The hidden states of all steps."""
        return self.outputs[-1]

    @property
    def steps(self) -> int:
        """Elements of the longest sequence."""
        return self.input.shape[0 if self.is_time_major else 1]

    @property
    def batches(self) -> int:
        """Sequences side by side, each with states of its own."""
        return self.input.shape[1 if self.is_time_major else 0]

    @property
    def inputs(self) -> int:
        """Elements of a step."""
        return self.input.shape[2]

    @property
    def units(self) -> int:
        """Elements of a hidden state."""
        return self.kernels[0].shape[0]

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return tuple(zip(self.states, self.outputs, strict=False)) if self.is_kept else ()

    @property
    def macs(self) -> int:
        return len(self.gates) * self.batches * self.steps * self.units * (self.inputs + self.units)

    @property
    def is_wide(self) -> bool:
        """Whether activations are int16, so that sums have 64 bits."""
        return self.input.type.dtype is DType.INT16

    @property
    def products(self) -> tuple[Products, ...]:
        of_input = (Products(w, b, self.input) for w, b in zip(self.kernels, self.biases, strict=True))
        return (*of_input, *(Products(w, None, self.hidden) for w in self.recurrent))

    @property
    def alike(self) -> tuple[tuple[Tensor, ...], ...]:
        return ((self.hidden, self.outputs[0], self.result),)

    def input_scaling(self, gate: int) -> Multiplier:
        """From products with the input to Q3.12."""
        return quantize_multiplier(self.input.type.scale * self.kernels[gate].type.scale / GATE_SCALE)

    def hidden_scaling(self, gate: int) -> Multiplier:
        """From products with the hidden state to Q3.12."""
        return quantize_multiplier(self.hidden.type.scale * self.recurrent[gate].type.scale / GATE_SCALE)

    def channel_links(self) -> None:
        return None

    def precision_points(self) -> tuple[Point, ...]:
        sums = "int64" if self.is_wide else "int32"
        return (
            *offsets(self.input, self.hidden),
            weights_point(self.kernels[0]),
            *bias_points(self.biases[0], sums),
            Point("accumulator", sums),
            Point("gates", "input and hidden products each to Q3.12, saturated, added, saturated"),
            Point("functions", "sigmoid and tanh by an interpolated table of 256 entries, Q0.15"),
            *self.state_points(),
            *requantized(self.hidden),
        )

    def state_points(self) -> tuple[Point, ...]:
        """How states change precision."""
        return ()

    def verify(self) -> None:
        check_rank("input", self.input, 3)
        listed = (self.kernels, self.recurrent, self.biases)
        if any(len(tensors) != len(self.gates) for tensors in listed):
            raise ValueError(
                f"{len(self.gates)} gates were expected, with weights of the input and the state, and bias"
            )
        if not self.kernels[0].type.elements or len(self.kernels[0].shape) != 2:
            raise ValueError(f"weights '{self.kernels[0].name}' have shape {list(self.kernels[0].shape)}")
        for gate, kernel, recurrent, bias in zip(self.gates, *listed, strict=True):
            check_shape(f"weights of the {gate} gate", kernel, (self.units, self.inputs))
            check_shape(f"recurrent weights of the {gate} gate", recurrent, (self.units, self.units))
            check_shape(f"bias of the {gate} gate", bias, (self.units,))
        for tensor in (*self.kernels, *self.recurrent, *self.biases):
            if not tensor.is_constant:
                raise ValueError(f"'{tensor.name}' is computed at run time, a constant was expected")
        for state in self.states:
            check_shape("state", state, (self.batches, self.units))
        check_shape("output", self.result, (*self.input.shape[:2], self.units))
        if self.lengths is not None:
            check_dtype("lengths", self.lengths, DType.INT32)
            check_shape("lengths", self.lengths, (self.batches,))
        if not self.gate_clip >= 0:
            raise ValueError(f"gates are clipped to {self.gate_clip}, a number of 0 or more was expected")
        self._verify_types()

    def _verify_types(self) -> None:
        dtype = self.input.type.dtype
        check_dtype("input", self.input, DType.INT8, DType.INT16, DType.FLOAT32)
        check_dtype("hidden state", self.hidden, dtype)
        check_dtype("output", self.result, dtype)
        for weights in (*self.kernels, *self.recurrent):
            check_dtype("weights", weights, DType.FLOAT32 if dtype.is_real else DType.INT8)
        for bias in self.biases:
            check_dtype("bias", bias, _SUMS[dtype])
        if not dtype.is_real:
            self._verify_scales()
            self._verify_stored_form()

    def _verify_scales(self) -> None:
        check_activations(("input", self.input), ("hidden state", self.hidden), ("output", self.result))
        if self.hidden.type.quant != self.result.type.quant:
            raise ValueError(f"'{self.hidden.name}' and '{self.result.name}' must have the same quantization")
        for weights in (*self.kernels, *self.recurrent):
            check_per_tensor("weights", weights)
            if weights.type.zero_point:
                raise ValueError(f"weights '{weights.name}' have zero point {weights.type.zero_point}, not 0")
        if max(self.inputs, self.units) > _MOST_PRODUCTS:
            raise ValueError(f"{max(self.inputs, self.units)} products, at most {_MOST_PRODUCTS} were expected")
        if self.is_wide:
            for products in self.products:
                check_wide_bias(products.bias)
            for number, gate in enumerate(self.gates):
                if max(self.input_scaling(number).shift, self.hidden_scaling(number).shift) > _MOST_WIDE_SHIFT:
                    raise ValueError(f"the scale of products of the {gate} gate is too large for 64-bit sums")

    def _verify_stored_form(self) -> None:
        """ValueError unless integers compute what is asked; NoIntegersError where none do, whatever their scales."""
        if self.gate_clip:
            raise NoIntegersError(f"gates are clipped to {self.gate_clip}, which integers have no arithmetic for")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return self._run(values)[0]

    def passed(self, values: Values) -> Mapping[Tensor, Array]:
        if not self.cells:
            return {}
        trail = self._run(values)[1]
        trail += [trail[-1]] * (self.steps + 1 - len(trail))
        return {result: np.stack([states[number] for states in trail]) for number, result in self._cells()}

    def _cells(self) -> Iterator[tuple[int, Tensor]]:
        """Next states that are cells, with their numbers."""
        return ((number, result) for number, result in enumerate(self.outputs) if result in self.cells)

    def _run(self, values: Values) -> tuple[tuple[Array, ...], list[States]]:
        """The results, and of layers with cells the states before the first step and after each."""
        sequence = values[self.input] if self.is_time_major else values[self.input].swapaxes(0, 1)
        lengths = self._lengths(values)
        states = [state.copy() for state in self.begun(values)]
        trail = [tuple(state.copy() for state in states)]
        type = self.result.type
        found = np.full((self.steps, self.batches, self.units), zero_of(type), type.dtype.numpy)
        for count in range(int(lengths.max(initial=0))):
            (batch,) = np.nonzero(count < lengths)
            time = lengths[batch] - 1 - count if self.is_reversed else np.full(batch.size, count)
            after = self.step(values, sequence[time, batch], tuple(state[batch] for state in states))
            for state, new in zip(states, after, strict=True):
                state[batch] = new
            found[time, batch] = after[0]
            if self.cells:
                trail.append(tuple(state.copy() for state in states))
        for state, tensor in zip(states, self.states, strict=False):
            state[lengths == 0] = zero_of(tensor.type)
        result = found if self.is_time_major else np.ascontiguousarray(found.swapaxes(0, 1))
        return (*states[: len(self.states)], result), trail

    def _lengths(self, values: Values) -> Int64Array:
        if self.lengths is None:
            return np.full(self.batches, self.steps)
        return np.clip(values[self.lengths].astype(np.int64), 0, self.steps)

    def begun(self, values: Values) -> States:
        """What the first step reads: the states, the hidden one first, and what else goes from step to step."""
        return tuple(values[state] for state in self.states)

    @abstractmethod
    def step(self, values: Values, x: Array, states: States) -> States:
        """What `begun` gives, a step later; of some batches."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def gate(self, values: Values, gate: int, x: Array, hidden: Array) -> Int64Array:
        """What goes into the function of a gate, in Q3.12."""
        return saturated(self.of_input(values, gate, x) + self.of_hidden(values, gate, hidden))

    def of_input(self, values: Values, gate: int, x: Array) -> Int64Array:
        """Products with the input and the bias, in Q3.12."""
        return self._products(
            x, self.input, values[self.kernels[gate]], values[self.biases[gate]], self.input_scaling(gate)
        )

    def of_hidden(self, values: Values, gate: int, hidden: Array, bias: Array | None = None) -> Int64Array:
        """Products with the hidden state, in Q3.12."""
        return self._products(hidden, self.hidden, values[self.recurrent[gate]], bias, self.hidden_scaling(gate))

    def _products(
        self, operand: Array, tensor: Tensor, weights: Array, bias: Array | None, scaling: Multiplier
    ) -> Int64Array:
        sums = exact_matmul(operand.astype(np.int64) - tensor.type.zero_point, weights.T)
        if bias is not None:
            sums = sums + bias.astype(np.int64)
        return saturated(_scaled_wide(sums, scaling) if self.is_wide else scaled(sums, scaling))

    def stored_hidden(self, value: Int64Array, scaling: Multiplier) -> Array:
        """Numbers as hidden states."""
        type = self.hidden.type
        return np.clip(scaled(value, scaling) + type.zero_point, type.min, type.max).astype(type.dtype.numpy)

    def real_gate(self, values: Values, gate: int, x: Array, hidden: Array) -> Float32Array:
        """What goes into the function of a gate."""
        return self.real_of_input(values, gate, x) + real_products(hidden, values[self.recurrent[gate]])

    def real_of_input(self, values: Values, gate: int, x: Array) -> Float32Array:
        """Products with the input, and the bias."""
        return real_products(x, values[self.kernels[gate]]) + values[self.biases[gate]].astype(np.float32)

    def clipped(self, gate: Float32Array) -> Float32Array:
        """What goes into the function of a gate, limited."""
        limit = np.float32(self.gate_clip)
        return np.clip(gate, -limit, limit) if self.gate_clip > 0 else gate


def real_products(operand: Array, weights: Array) -> Float32Array:
    """A matrix product of float32."""
    found: Float32Array = operand.astype(np.float32) @ weights.astype(np.float32).T
    return found


def scaled(value: Int64Array, scaling: Multiplier) -> Int64Array:
    """A sum of 32 bits, requantized."""
    return requantize(wrap_int32(value), scaling.multiplier, scaling.shift)


def _scaled_wide(value: Int64Array, scaling: Multiplier) -> Int64Array:
    return requantize_wide(value, np.array(scaling.multiplier), np.array(scaling.shift))


def saturated(value: Int64Array) -> Int64Array:
    """Within 16 bits."""
    return np.clip(value, *_INT16)


def check_functions(functions: Sequence[GateFunction], expected: Sequence[GateFunction]) -> None:
    """NoIntegersError unless gates have the functions that integers have tables for."""
    if tuple(functions) != tuple(expected):
        found, wanted = (", ".join(function.kind.value for function in listed) for listed in (functions, expected))
        raise NoIntegersError(f"gates have functions {found}; of integers {wanted} were expected")
