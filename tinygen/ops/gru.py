"""Gated recurrent units over a sequence, as ONNX has them."""

from dataclasses import dataclass
from math import frexp
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Products
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.gate_function import LOGISTIC, TANH, GateFunction
from tinygen.ops.recurrent import (
    BY_UNITS,
    ONE_TO_ONE,
    UNIT_SCALE,
    Recurrent,
    States,
    check_functions,
    real_products,
    saturated,
    scaled,
)
from tinygen.ops.requantize import Multiplier, quantize_multiplier
from tinygen.ops.sigmoid_int16 import sigmoid_int16, tanh_int16

GRU_FUNCTIONS: tuple[GateFunction, ...] = (LOGISTIC, TANH)
"""Of update and reset gate; of what is new."""

_ONE = 1 << 15  # in Q15


@dataclass(frozen=True, eq=False, kw_only=True)
class Gru(Recurrent):
    """Update and reset gate z and r of each step, and what is new: h = (1 - z)*n + z*h, and h is the output.

    z and r are sigmoid of W*x + b + R*h; n is tanh of W*x + b + R*(r*h), or, with the reset behind the product, of
    W*x + b + r*(R*h + hidden bias).

    On integers, within a call, h is kept in 16 bits (`memory_scale`) beside the stored hidden state, which the products
    read; n and the gates are Q0.15. docs/recurrent.md bounds what a step adds to errors.
    """

    gates: ClassVar[tuple[str, ...]] = ("update", "reset", "new")

    hidden_bias: Tensor | None  # [units], of the biases' type; with the reset behind the product
    is_reset_behind: bool  # ONNX's linear_before_reset

    @property
    def products(self) -> tuple[Products, ...]:
        *others, last = super().products
        return (*others, Products(last.weights, self.hidden_bias, last.input))

    @property
    def memory_scale(self) -> float:
        """Of hidden states in 16 bits: a power of two; the states, and 1, are within."""
        type = self.hidden.type
        magnitude = type.scale * max(type.max - type.zero_point, type.zero_point - type.min)
        mantissa, exponent = frexp(max(magnitude, 1.0))
        return 2.0 ** (exponent - (mantissa == 0.5)) * UNIT_SCALE

    @property
    def memory_scaling(self) -> Multiplier:
        """From stored hidden states to those of 16 bits."""
        return quantize_multiplier(self.hidden.type.scale / self.memory_scale)

    @property
    def keep_scaling(self) -> Multiplier:
        """From products of update gate and memory to memory."""
        return BY_UNITS

    @property
    def update_scaling(self) -> Multiplier:
        """From products of what the update gate leaves and what is new to memory."""
        return quantize_multiplier(UNIT_SCALE * UNIT_SCALE / self.memory_scale)

    @property
    def reset_scaling(self) -> Multiplier:
        """From products with the reset gate: of Q3.12, or of memory to stored hidden states."""
        return (
            BY_UNITS
            if self.is_reset_behind
            else quantize_multiplier(UNIT_SCALE * self.memory_scale / self.hidden.type.scale)
        )

    @property
    def output_scaling(self) -> Multiplier:
        """From memory to stored hidden states."""
        return quantize_multiplier(self.memory_scale / self.hidden.type.scale)

    def state_points(self) -> tuple[Point, ...]:
        return (Point("memory", f"int16, scale {self.memory_scale:g}"),)

    def verify(self) -> None:
        super().verify()
        if (self.hidden_bias is not None) != self.is_reset_behind:
            raise ValueError("a bias of products with the hidden state goes with a reset behind them")
        if self.hidden_bias is not None:
            check_shape("bias of the hidden state", self.hidden_bias, (self.units,))
            check_dtype("bias of the hidden state", self.hidden_bias, self.biases[0].type.dtype)

    def _verify_stored_form(self) -> None:
        super()._verify_stored_form()
        check_functions(self.functions, GRU_FUNCTIONS)

    def begun(self, values: Values) -> States:
        hidden = values[self.hidden]
        if self.input.type.dtype is DType.FLOAT32:
            return (hidden,)
        centered = hidden.astype(np.int64) - self.hidden.type.zero_point
        return hidden, saturated(scaled(centered, self.memory_scaling)).astype(np.int16)

    def step(self, values: Values, x: Array, states: States) -> States:
        if self.input.type.dtype.is_real:
            return (self._real_step(values, x, states[0].astype(np.float32)),)
        hidden, memory = states[0], states[1].astype(np.int64)
        z, r = (sigmoid_int16(self.gate(values, gate, x, hidden), ONE_TO_ONE) for gate in (0, 1))
        if self.hidden_bias is not None:
            product = self.of_hidden(values, 2, hidden, values[self.hidden_bias])
            reset = saturated(scaled(r * product, self.reset_scaling))
        else:
            reset = self.of_hidden(values, 2, self.stored_hidden(r * memory, self.reset_scaling))
        n = tanh_int16(saturated(self.of_input(values, 2, x) + reset), ONE_TO_ONE)
        kept, new = scaled(z * memory, self.keep_scaling), scaled((_ONE - z) * n, self.update_scaling)
        after = saturated(kept + new)
        return self.stored_hidden(after, self.output_scaling), after.astype(np.int16)

    def _real_step(self, values: Values, x: Array, hidden: Float32Array) -> Array:
        of_gate, of_new = self.functions
        z, r = (of_gate(self.clipped(self.real_gate(values, gate, x, hidden))) for gate in (0, 1))
        weights = values[self.recurrent[2]]
        if self.hidden_bias is not None:
            reset = r * (real_products(hidden, weights) + values[self.hidden_bias].astype(np.float32))
        else:
            reset = real_products(r * hidden, weights)
        n = of_new(self.clipped(self.real_of_input(values, 2, x) + reset))
        after: Array = (np.float32(1) - z) * n + z * hidden
        return after
