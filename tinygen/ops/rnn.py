"""The plain recurrent layer over a sequence, as ONNX and TFLite have it."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Values
from tinygen.ir.types import Array
from tinygen.ops.gate_function import TANH, GateFunction
from tinygen.ops.recurrent import ONE_TO_ONE, UNIT_SCALE, Recurrent, States, check_functions
from tinygen.ops.requantize import Multiplier, quantize_multiplier
from tinygen.ops.sigmoid_int16 import tanh_int16

RNN_FUNCTIONS: tuple[GateFunction, ...] = (TANH,)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rnn(Recurrent):
    """h = function(W*x + b + R*h), and h is the output; on integers the function is tanh, in Q0.15."""

    gates: ClassVar[tuple[str, ...]] = ("hidden",)

    @property
    def output_scaling(self) -> Multiplier:
        """From Q0.15 to stored hidden states."""
        return quantize_multiplier(UNIT_SCALE / self.hidden.type.scale)

    def _verify_stored_form(self) -> None:
        super()._verify_stored_form()
        check_functions(self.functions, RNN_FUNCTIONS)

    def step(self, values: Values, x: Array, states: States) -> States:
        (hidden,) = states
        if self.input.type.dtype.is_real:
            return (self.functions[0](self.clipped(self.real_gate(values, 0, x, hidden))),)
        return (self.stored_hidden(tanh_int16(self.gate(values, 0, x, hidden), ONE_TO_ONE), self.output_scaling),)
