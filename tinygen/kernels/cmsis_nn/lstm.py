"""Long short-term memory: CMSIS-NN's functions where they are exact, beside tinygen's own."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from tinygen.ir.channels import Intervals
from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.beside import library_or_own
from tinygen.kernels.cmsis_nn.bounds import INT16_END, INT32_END, any_centered, fits, scaled, sums_of_products
from tinygen.kernels.tinygen_c.recurrent import LstmS8, RecurrentS8, lower_stored, stored
from tinygen.ops.lstm import Lstm

_MOST_UNITS = (1 << 15) - 1  # of sigmoid and tanh, in Q0.15
_UNITS = Intervals(np.array([-(_MOST_UNITS**2)]), np.array([_MOST_UNITS**2]))  # products of two


@dataclass(frozen=True, eq=False, kw_only=True)
class LibraryLstm(LstmS8):
    """arm_lstm_unidirectional_s8 or arm_lstm_unidirectional_s16. What goes into two gates is scratch."""

    header: ClassVar[str] = Kernel.header
    template: ClassVar[str] = "lstm"
    takes_scratch: ClassVar[bool] = True

    cell_clip: int
    cell_exponent: int
    input_offset: int
    output_offset: int


def lower_lstm(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels for a layer on integers, the cheapest first."""
    assert isinstance(op, Lstm)
    own = lower_stored(op, toolbox)
    is_linked = toolbox.library is Library.CMSIS_NN
    return library_or_own(op, _library_lstm(op, own) if is_linked and is_exact(op) else None, own, toolbox)


def is_exact(op: Lstm) -> bool:
    """Whether CMSIS-NN's function gives what TFLite Micro's reference kernel gives, whatever the inputs.

    It adds products with the hidden state to those with the input before it saturates them, and products of input and
    cell gate to cells: equal where neither leaves 16 bits. Sums of int16 have 32 bits with MVE, and so have those of
    int8 that are shifted to the left, and what comes of both, everywhere.
    """
    if op.is_reversed or op.lengths is not None:
        return False
    return fits(scaled(_UNITS, op.update_scaling), INT16_END) and all(
        _is_exact_gate(op, gate) for gate in range(len(op.gates))
    )


def _is_exact_gate(op: Lstm, gate: int) -> bool:
    biases = stored(op.biases[gate]).astype(np.int64)
    of_input = sums_of_products(stored(op.kernels[gate]), any_centered(op.input)).each(lambda ends: ends + biases)
    of_hidden = sums_of_products(stored(op.recurrent[gate]), _hidden(op))
    return (
        fits(of_input, INT32_END)
        and fits(of_hidden, INT32_END)
        and fits(scaled(of_input, op.input_scaling(gate), op.is_wide), INT32_END)
        and fits(scaled(of_hidden, op.hidden_scaling(gate), op.is_wide), INT16_END)
    )


def _hidden(op: Lstm) -> Intervals:
    """Hidden states less their zero point that a step may read: what a layer begins with, and what steps give."""
    most = any_centered(op.hidden)
    steps = scaled(_UNITS, op.output_scaling).each(lambda ends: np.clip(ends, most.low, most.high))
    if op.is_kept:  # it begins with zeros
        return steps
    if op.hidden.data is None:
        return most
    first = op.hidden.data.astype(np.int64) - op.hidden.type.zero_point
    return steps.including(int(first.min())).including(int(first.max()))


def _library_lstm(op: Lstm, own: RecurrentS8) -> LibraryLstm:
    """The same layer; the function has a table of sigmoids itself, and wants sums that start with 0 to say so."""
    zeros = Table("zeros", np.zeros(op.units, np.int64 if op.is_wide else np.int32))
    tables = tuple(table for table in own.tables if table.name != "sigmoid")
    at_once = op.batches if op.is_time_major else 1
    common = {field.name: getattr(own, field.name) for field in fields(own)}
    changed = {
        "function": "arm_lstm_unidirectional_s16" if op.is_wide else "arm_lstm_unidirectional_s8",
        "tables": tables if all(_has_starts(own)) else (*tables, zeros),
        "scratch_bytes": 2 * at_once * op.units * DType.INT16.bytes,
    }
    return LibraryLstm(
        **{**common, **changed},
        cell_clip=op.stored_clip,
        cell_exponent=op.cell_exponent,
        input_offset=-op.input.type.zero_point,
        output_offset=op.hidden.type.zero_point,
    )


def _has_starts(own: RecurrentS8) -> tuple[bool, ...]:
    return tuple(bool(product.starts) for gate in own.gates for product in (gate.input, gate.hidden))


LOWERINGS: Lowerings = {Lstm: lower_lstm}
