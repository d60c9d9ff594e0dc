"""Long short-term memory over a sequence, as TFLite has it."""

from dataclasses import dataclass
from math import frexp
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_activations, check_dtype, check_per_tensor, check_rank, check_shape
from tinygen.ops.precision import bias_points, offsets, requantized, weights_point
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    quantize_multiplier,
    requantize,
    requantize_wide,
    wrap_int32,
)
from tinygen.ops.sigmoid_int16 import sigmoid_int16, tanh_int16

GATES = ("input", "forget", "cell", "output")
_GATE_SCALE = 2.0**-12  # of what goes into sigmoid and tanh
_UNIT_SCALE = 2.0**-15  # of what comes out of them
_FORGET = Multiplier(1 << 30, -14)  # 2^-15, rounded twice
_LEFT_SHIFTS = range(-8, 4)  # of cells before tanh
_MOST_PRODUCTS = 1 << 15  # of a gate, whose sums keep within 32 bits (48 bits of int16)
_MOST_WIDE_SHIFT = 7
_INT16 = (-(1 << 15), (1 << 15) - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lstm(Op):
    """Input, forget, cell and output gate of each step: c = f*c + i*g, h = o*tanh(c), and h is the output.

    Gates are sigmoid (g: tanh) of W*x + b + R*h with the h of the step before. Arithmetic of TFLite Micro's reference
    kernel: products with x and with h are each brought to Q3.12 and saturated, then added and saturated; cells and
    gates are int16, scale products are computed in double precision.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [batches, steps, inputs], or [steps, batches, inputs]; int8, int16 or float32
    kernels: tuple[Tensor, ...]  # of input, forget, cell and output gate: [units, inputs], int8 or float32
    recurrent: tuple[Tensor, ...]  # the same: [units, units]
    biases: tuple[Tensor, ...]  # the same: [units], int32, of int16 int64, or float32
    hidden: Tensor  # [batches, units], of the input's type
    cell: Tensor  # [batches, units], int16 with zero point 0 and a power of two as scale, or float32
    outputs: tuple[Tensor, ...]  # next hidden state, next cell state; [.., .., units] in the order of the input
    is_time_major: bool
    cell_clip: float  # the largest magnitude of a cell; 0 where there is none

    @property
    def result(self) -> Tensor:
        """The hidden states of all steps."""
        return self.outputs[2]

    @property
    def steps(self) -> int:
        """Elements of the sequence."""
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
        """Cells."""
        return self.kernels[0].shape[0]

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return ((self.hidden, self.outputs[0]), (self.cell, self.outputs[1]))

    @property
    def macs(self) -> int:
        return 4 * self.batches * self.steps * self.units * (self.inputs + self.units)

    @property
    def is_wide(self) -> bool:
        """Whether activations are int16, so that sums have 64 bits."""
        return self.input.type.dtype is DType.INT16

    def input_scaling(self, gate: int) -> Multiplier:
        """From products with the input to Q3.12."""
        return quantize_multiplier(self.input.type.scale * self.kernels[gate].type.scale / _GATE_SCALE)

    def hidden_scaling(self, gate: int) -> Multiplier:
        """From products with the hidden state to Q3.12."""
        return quantize_multiplier(self.hidden.type.scale * self.recurrent[gate].type.scale / _GATE_SCALE)

    @property
    def forget_scaling(self) -> Multiplier:
        """From products of forget gate and cell to cells."""
        return _FORGET

    @property
    def update_scaling(self) -> Multiplier:
        """From products of input and cell gate to cells."""
        return quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / self.cell.type.scale)

    @property
    def output_scaling(self) -> Multiplier:
        """From products of output gate and tanh of the cell to hidden states."""
        return quantize_multiplier(_UNIT_SCALE * _UNIT_SCALE / self.hidden.type.scale)

    @property
    def tanh_scaling(self) -> Multiplier:
        """From cells to the steps of the table of tanh: a factor and a right shift."""
        left = self._cell_exponent + 12
        return Multiplier(3 << max(left, 0), max(-left, 0))

    @property
    def stored_clip(self) -> int:
        """The largest magnitude of a stored cell; 0 where there is none."""
        return int(min(self.cell_clip / self.cell.type.scale, _INT16[1])) if self.cell_clip > 0 else 0

    @property
    def _cell_exponent(self) -> int:
        return frexp(self.cell.type.scale)[1] - 1

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
            Point("cell", f"int16, scale {self.cell.type.scale:g}"),
            *requantized(self.hidden),
        )

    def verify(self) -> None:
        check_rank("input", self.input, 3)
        if self.input.is_constant:
            raise ValueError(f"input '{self.input.name}' is a constant, a tensor computed at run time was expected")
        if len(self.kernels) != 4 or len(self.recurrent) != 4 or len(self.biases) != 4:
            raise ValueError("four gates were expected, each with weights of the input and of the state, and a bias")
        if not self.kernels[0].type.elements or len(self.kernels[0].shape) != 2:
            raise ValueError(f"weights '{self.kernels[0].name}' have shape {list(self.kernels[0].shape)}")
        for gate, kernel, recurrent, bias in zip(GATES, self.kernels, self.recurrent, self.biases, strict=True):
            check_shape(f"weights of the {gate} gate", kernel, (self.units, self.inputs))
            check_shape(f"recurrent weights of the {gate} gate", recurrent, (self.units, self.units))
            check_shape(f"bias of the {gate} gate", bias, (self.units,))
            for tensor in (kernel, recurrent, bias):
                if not tensor.is_constant:
                    raise ValueError(f"'{tensor.name}' is computed at run time, a constant was expected")
        for role, state in (("hidden state", self.hidden), ("cell state", self.cell)):
            check_shape(role, state, (self.batches, self.units))
        check_shape("output", self.result, (*self.input.shape[:2], self.units))
        if not self.cell_clip >= 0:
            raise ValueError(f"the cell is clipped to {self.cell_clip}, a number of 0 or more was expected")
        self._verify_types()

    def _verify_types(self) -> None:
        dtype = self.input.type.dtype
        check_dtype("input", self.input, DType.INT8, DType.INT16, DType.FLOAT32)
        check_dtype("hidden state", self.hidden, dtype)
        check_dtype("output", self.result, dtype)
        check_dtype("cell state", self.cell, DType.FLOAT32 if dtype.is_real else DType.INT16)
        sums = {DType.FLOAT32: DType.FLOAT32, DType.INT8: DType.INT32, DType.INT16: DType.INT64}[dtype]
        for weights in (*self.kernels, *self.recurrent):
            check_dtype("weights", weights, DType.FLOAT32 if dtype.is_real else DType.INT8)
        for bias in self.biases:
            check_dtype("bias", bias, sums)
        if not dtype.is_real:
            self._verify_scales()

    def _verify_scales(self) -> None:
        check_activations(("input", self.input), ("hidden state", self.hidden), ("output", self.result))
        check_activations(("cell state", self.cell))
        if self.hidden.type.quant != self.result.type.quant:
            raise ValueError(f"'{self.hidden.name}' and '{self.result.name}' must have the same quantization")
        for weights in (*self.kernels, *self.recurrent):
            check_per_tensor("weights", weights)
            if weights.type.zero_point:
                raise ValueError(f"weights '{weights.name}' have zero point {weights.type.zero_point}, not 0")
        scale = self.cell.type.scale
        if frexp(scale)[0] != 0.5 or self._cell_exponent + 12 not in _LEFT_SHIFTS:
            raise ValueError(f"cell state '{self.cell.name}' has scale {scale}, 2^-20 to 2^-9 was expected")
        if max(self.inputs, self.units) > _MOST_PRODUCTS:
            raise ValueError(f"{max(self.inputs, self.units)} products, at most {_MOST_PRODUCTS} were expected")
        if self.is_wide:
            for gate in range(4):
                if max(self.input_scaling(gate).shift, self.hidden_scaling(gate).shift) > _MOST_WIDE_SHIFT:
                    raise ValueError(f"the scale of products of the {GATES[gate]} gate is too large for 64-bit sums")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        steps = values[self.input] if self.is_time_major else values[self.input].swapaxes(0, 1)
        hidden, cell = values[self.hidden], values[self.cell]
        step = self._real_step if self.input.type.dtype.is_real else self._stored_step
        found = []
        for x in steps:
            hidden, cell = step(values, x, hidden, cell)
            found.append(hidden)
        sequence = np.stack(found) if found else np.zeros((0, *hidden.shape), hidden.dtype)
        return hidden, cell, sequence if self.is_time_major else np.ascontiguousarray(sequence.swapaxes(0, 1))

    def _stored_step(self, values: Values, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """Hidden and cell state after a step, [batches, units]."""
        i, f, g, o = (self._gate(values, gate, x, hidden) for gate in range(4))
        one = Multiplier(3, 0)
        i, f, g, o = sigmoid_int16(i, one), sigmoid_int16(f, one), tanh_int16(g, one), sigmoid_int16(o, one)
        kept = _saturated(_scaled(f * cell.astype(np.int64), self.forget_scaling))
        added = _saturated(_scaled(i * g, self.update_scaling))
        after = _saturated(kept + added)
        if self.stored_clip:
            after = np.clip(after, -self.stored_clip, self.stored_clip)
        product = o * tanh_int16(after, self.tanh_scaling)
        type = self.hidden.type
        stored = np.clip(_scaled(product, self.output_scaling) + type.zero_point, type.min, type.max)
        return stored.astype(type.dtype.numpy), after.astype(np.int16)

    def _gate(self, values: Values, gate: int, x: Array, hidden: Array) -> Int64Array:
        """What goes into the function of a gate, in Q3.12."""
        ends = (x.astype(np.int64) - self.input.type.zero_point, hidden.astype(np.int64) - self.hidden.type.zero_point)
        from_input = exact_matmul(ends[0], values[self.kernels[gate]].T) + values[self.biases[gate]].astype(np.int64)
        from_hidden = exact_matmul(ends[1], values[self.recurrent[gate]].T)
        scale = _scaled_wide if self.is_wide else _scaled
        first = _saturated(scale(from_input, self.input_scaling(gate)))
        return _saturated(first + _saturated(scale(from_hidden, self.hidden_scaling(gate))))

    def _real_step(self, values: Values, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        i, f, g, o = (self._real_gate(values, gate, x, hidden) for gate in range(4))
        after: Float32Array = _logistic(f) * cell.astype(np.float32) + _logistic(i) * np.tanh(g)
        if self.cell_clip > 0:
            after = np.clip(after, np.float32(-self.cell_clip), np.float32(self.cell_clip))
        return _logistic(o) * np.tanh(after), after

    def _real_gate(self, values: Values, gate: int, x: Array, hidden: Array) -> Float32Array:
        """What goes into the function of a gate."""
        constants = (self.kernels[gate], self.recurrent[gate], self.biases[gate])
        kernel, recurrent, bias = (values[constant].astype(np.float32) for constant in constants)
        found: Float32Array = x.astype(np.float32) @ kernel.T + bias + hidden.astype(np.float32) @ recurrent.T
        return found


def _logistic(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _scaled(value: Int64Array, scaling: Multiplier) -> Int64Array:
    return requantize(wrap_int32(value), scaling.multiplier, scaling.shift)


def _scaled_wide(value: Int64Array, scaling: Multiplier) -> Int64Array:
    return requantize_wide(value, np.array(scaling.multiplier), np.array(scaling.shift))


def _saturated(value: Int64Array) -> Int64Array:
    return np.clip(value, *_INT16)
