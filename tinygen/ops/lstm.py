"""Long short-term memory over a sequence, as TFLite and ONNX have it."""

from dataclasses import dataclass
from math import frexp
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.checks import NoIntegersError, check_activations, check_dtype, check_shape
from tinygen.ops.gate_function import LOGISTIC, TANH, GateFunction
from tinygen.ops.recurrent import (
    BY_UNITS,
    ONE_TO_ONE,
    UNIT_SCALE,
    Recurrent,
    States,
    check_functions,
    saturated,
    scaled,
)
from tinygen.ops.requantize import Multiplier, quantize_multiplier
from tinygen.ops.sigmoid_int16 import sigmoid_int16, tanh_int16

LSTM_FUNCTIONS: tuple[GateFunction, ...] = (LOGISTIC, TANH, TANH)
"""Of input, forget and output gate; of the cell gate; of cells."""

CELL_SCALES = (2.0**-20, 2.0**-9)
"""The least and the largest, powers of two, for which there is a tanh of cells on integers."""

_MOST_CELL = (1 << 15) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Lstm(Recurrent):
    """Input, forget, cell and output gate of each step: c = f*c + i*g, h = o*tanh(c), and h is the output.

    Gates are sigmoid (g: tanh) of W*x + b + R*h with the h of the step before. Arithmetic of TFLite Micro's reference
    kernel: products with x and with h are each brought to Q3.12 and saturated, then added and saturated; cells and
    gates are int16, scale products are computed in double precision. Of float32 all that ONNX's LSTM has.
    """

    gates: ClassVar[tuple[str, ...]] = ("input", "forget", "cell", "output")

    cell: Tensor  # [batches, units], int16 with zero point 0 and a power of two as scale, or float32
    cell_clip: float  # the largest magnitude of a cell; 0 where there is none
    peepholes: tuple[Tensor, ...] = ()  # [units] times the cell, into input, forget and output gate; float32
    is_coupled: bool = False  # the forget gate is what the input gate leaves: f = 1 - i

    @property
    def states(self) -> tuple[Tensor, ...]:
        return (self.hidden, self.cell)

    @property
    def alike(self) -> tuple[tuple[Tensor, ...], ...]:
        return (*super().alike, (self.cell, self.outputs[1]))

    @property
    def cells(self) -> tuple[Tensor, ...]:
        return (self.cell, self.outputs[1])

    @property
    def forget_scaling(self) -> Multiplier:
        """From products of forget gate and cell to cells."""
        return BY_UNITS

    @property
    def update_scaling(self) -> Multiplier:
        """From products of input and cell gate to cells."""
        return quantize_multiplier(UNIT_SCALE * UNIT_SCALE / self.cell.type.scale)

    @property
    def output_scaling(self) -> Multiplier:
        """From products of output gate and tanh of the cell to hidden states."""
        return quantize_multiplier(UNIT_SCALE * UNIT_SCALE / self.hidden.type.scale)

    @property
    def tanh_scaling(self) -> Multiplier:
        """From cells to the steps of the table of tanh: a factor and a right shift."""
        left = self.cell_exponent + 12
        return Multiplier(3 << max(left, 0), max(-left, 0))

    @property
    def stored_clip(self) -> int:
        """The largest magnitude of a stored cell; 0 where there is none."""
        return int(min(self.cell_clip / self.cell.type.scale, _MOST_CELL)) if self.cell_clip > 0 else 0

    @property
    def cell_exponent(self) -> int:
        """The scale of stored cells is 2 to the power of it."""
        return frexp(self.cell.type.scale)[1] - 1

    def state_points(self) -> tuple[Point, ...]:
        return (Point("cell", f"int16, scale {self.cell.type.scale:g}"),)

    def verify(self) -> None:
        super().verify()
        if not self.cell_clip >= 0:
            raise ValueError(f"the cell is clipped to {self.cell_clip}, a number of 0 or more was expected")
        if len(self.peepholes) not in (0, 3):
            raise ValueError(f"{len(self.peepholes)} peepholes, three or none were expected")
        for peephole in self.peepholes:
            check_shape("peephole", peephole, (self.units,))
            check_dtype("peephole", peephole, DType.FLOAT32)
        check_dtype("cell state", self.cell, DType.FLOAT32 if self.input.type.dtype.is_real else DType.INT16)

    def _verify_stored_form(self) -> None:
        super()._verify_stored_form()
        check_functions(self.functions, LSTM_FUNCTIONS)
        if self.peepholes or self.is_coupled:
            raise NoIntegersError("has peepholes or coupled gates, which integers have no arithmetic for")
        check_activations(("cell state", self.cell))
        scale = self.cell.type.scale
        if frexp(scale)[0] != 0.5 or not CELL_SCALES[0] <= scale <= CELL_SCALES[1]:
            raise ValueError(f"cell state '{self.cell.name}' has scale {scale}, 2^-20 to 2^-9 was expected")

    def step(self, values: Values, x: Array, states: States) -> States:
        hidden, cell = states
        if self.input.type.dtype.is_real:
            return self._real_step(values, x, hidden, cell)
        i, f, g, o = (self.gate(values, gate, x, hidden) for gate in range(4))
        i, f, g, o = (
            sigmoid_int16(i, ONE_TO_ONE),
            sigmoid_int16(f, ONE_TO_ONE),
            tanh_int16(g, ONE_TO_ONE),
            sigmoid_int16(o, ONE_TO_ONE),
        )
        kept = saturated(scaled(f * cell.astype(np.int64), self.forget_scaling))
        after = saturated(kept + saturated(scaled(i * g, self.update_scaling)))
        if self.stored_clip:
            after = np.clip(after, -self.stored_clip, self.stored_clip)
        product = o * tanh_int16(after, self.tanh_scaling)
        return self.stored_hidden(product, self.output_scaling), after.astype(np.int16)

    def _real_step(self, values: Values, x: Array, hidden: Array, cell: Array) -> States:
        of_gate, of_update, of_cell = self.functions
        i, f, g, o = (self.real_gate(values, gate, x, hidden) for gate in range(4))
        before: Float32Array = cell.astype(np.float32)
        i = of_gate(self.clipped(i + self._through(values, 0, before)))
        f = np.float32(1) - i if self.is_coupled else of_gate(self.clipped(f + self._through(values, 1, before)))
        after: Float32Array = f * before + i * of_update(self.clipped(g))
        if self.cell_clip > 0:
            after = np.clip(after, np.float32(-self.cell_clip), np.float32(self.cell_clip))
        o = of_gate(self.clipped(o + self._through(values, 2, after)))
        return o * of_cell(after), after

    def _through(self, values: Values, number: int, cell: Float32Array) -> Float32Array | np.float32:
        """What a peephole adds to a gate."""
        return values[self.peepholes[number]].astype(np.float32) * cell if self.peepholes else np.float32(0)
