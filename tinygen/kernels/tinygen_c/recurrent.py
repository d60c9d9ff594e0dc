"""Layers over a sequence, in C a loop over its steps."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.kernels.work import Work, work
from tinygen.ops.gate_function import GateFunction
from tinygen.ops.gru import Gru
from tinygen.ops.lstm import Lstm
from tinygen.ops.recurrent import Recurrent
from tinygen.ops.requantize import Int64Array, Multiplier, wrap_int32
from tinygen.ops.rnn import Rnn
from tinygen.ops.sigmoid_int16 import sigmoid_offsets

_STATES = ("hidden", "cell")  # parameters of the C functions
_CELLS: dict[type[Op], str] = {Gru: "gru", Lstm: "lstm", Rnn: "rnn"}


@dataclass(frozen=True)
class StateParameter:
    """A parameter of the C function, and what a call begins with."""

    name: str
    ctype: str
    is_given: bool  # it begins with an operand; else with zeros


@dataclass(frozen=True)
class Member:
    """A member of the layer's struct."""

    name: str
    value: float


@dataclass(frozen=True)
class Scaling:
    """A member that scales."""

    name: str
    by: Multiplier


@dataclass(frozen=True)
class GateProducts:
    """Weights of a gate times values: the tables with weights and with what sums start with, and the scaling."""

    weights: str
    starts: str | None  # None where all sums start with 0
    scaling: Multiplier


@dataclass(frozen=True)
class Gate:
    """What goes into the function of a gate."""

    input: GateProducts
    hidden: GateProducts


@dataclass(frozen=True)
class Mapped:
    """A function of float32 in C, and its parameters."""

    name: str
    parameters: tuple[float, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class RecurrentKernel(Kernel):
    """tg_CELL_TYPE: what all have in common."""

    header: ClassVar[str] = "tg_recurrent.h"

    cell: str  # lstm, gru or rnn
    ctype: str
    batches: int
    steps: int
    inputs: int
    units: int
    is_time_major: bool
    is_reversed: bool
    is_kept: bool
    has_lengths: bool
    states: tuple[StateParameter, ...]
    numbers: tuple[Member, ...]

    @property
    def runner(self) -> str:
        given = [state.name for state in self.states if state.is_given]
        begins = [] if self.is_kept else ["from", *(given or ["zero"])]
        return "_".join(["run", self.function, *(["lengths"] if self.has_lengths else []), *begins])


@dataclass(frozen=True, eq=False, kw_only=True)
class RecurrentS8(RecurrentKernel):
    """On int8 or int16. Zero points are part of the sums' starts."""

    template: ClassVar[str] = "recurrent_s8"

    gates: tuple[Gate, ...]
    scalings: tuple[Scaling, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class LstmS8(RecurrentS8):
    """Of which CMSIS-NN has functions too."""

    @property
    def is_priced_by_cycles(self) -> bool:
        """The functions load, multiply and branch in other shares: with MVE that with more instructions is faster."""
        return True

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - it is whole
        """step: of each sequence; unit: of each step; four: begun four units; vector: begun 16 values of a product;
        rest: multiplications behind the last four of a product; tail_mac: those of units behind the last four."""
        assert isinstance(op, Lstm)
        steps, sizes = op.batches * op.steps, (op.inputs, op.units)
        products = len(op.gates) * steps * op.units
        return work(
            self.function,
            call=1,
            step=steps,
            unit=steps * op.units,
            four=steps * -(-op.units // 4),
            mac=op.macs,
            vector=products * sum(-(-size // 16) for size in sizes),
            rest=products * sum(size % 4 for size in sizes),
            tail_mac=op.macs * (op.units % 4) / op.units,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GruS8(RecurrentS8):
    """Its hidden states in 16 bits and its gates are scratch."""

    takes_scratch: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class RecurrentF32(RecurrentKernel):
    """On real numbers."""

    template: ClassVar[str] = "recurrent_f32"

    gates: tuple[str, ...]
    functions: tuple[Mapped, ...]
    peepholes: tuple[str, ...] = ()
    hidden_bias: str | None = None

    @property
    def callees(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(function.name for function in self.functions))


@dataclass(frozen=True, eq=False, kw_only=True)
class GruF32(RecurrentF32):
    """Its reset gate is scratch."""

    takes_scratch: ClassVar[bool] = True


_KINDS: dict[type[Op], type[RecurrentS8]] = {Gru: GruS8, Lstm: LstmS8}


def lower_stored(op: Op, toolbox: Toolbox) -> RecurrentS8:  # noqa: ARG001 - the same for all targets
    """The kernel for a layer on integers."""
    assert isinstance(op, Recurrent)
    tables, gates = [Table("sigmoid", sigmoid_offsets())], []
    for number in range(len(op.gates)):
        found, gate = _gate(op, number)
        tables += found
        gates.append(gate)
    scalings, numbers = _scalings(op)
    common = _common(op, "s16" if op.is_wide else "s8", "int16_t" if op.is_wide else "int8_t", tables)
    scratch = 3 * op.units * DType.INT16.bytes if isinstance(op, Gru) else 0
    members = (*numbers, Member("output_zero_point", op.hidden.type.zero_point))
    kind = _KINDS.get(type(op), RecurrentS8)
    return kind(**common, scratch_bytes=scratch, numbers=members, gates=tuple(gates), scalings=scalings)


def lower_real(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a layer on real numbers."""
    assert isinstance(op, Recurrent)
    roles = (("kernel", op.kernels), ("recurrent", op.recurrent), ("bias", op.biases))
    tables = [Table(f"{gate}_{role}", stored(t[number])) for number, gate in enumerate(op.gates) for role, t in roles]
    numbers, others = [Member("gate_clip", op.gate_clip)], dict[str, Any]()
    if isinstance(op, Lstm):
        peepholes = [Table(f"peephole_{number}", stored(peephole)) for number, peephole in enumerate(op.peepholes)]
        tables += peepholes
        numbers += [Member("cell_clip", op.cell_clip), Member("is_coupled", int(op.is_coupled))]
        others["peepholes"] = tuple(table.name for table in peepholes)
    if isinstance(op, Gru) and op.hidden_bias is not None:
        tables.append(Table("hidden_bias", stored(op.hidden_bias)))
        others["hidden_bias"] = "hidden_bias"
    common = _common(op, "f32", "float", tables)
    kind, scratch = (GruF32, op.units * DType.FLOAT32.bytes) if isinstance(op, Gru) else (RecurrentF32, 0)
    functions = tuple(map(_mapped, op.functions))
    return kind(**common, scratch_bytes=scratch, numbers=tuple(numbers), gates=op.gates, functions=functions, **others)


def _common(op: Recurrent, suffix: str, ctype: str, tables: list[Table]) -> dict[str, Any]:
    """The fields of any kernel."""
    begins = () if op.is_kept else op.states
    given = tuple(state for state in begins if not _is_zero(state))
    lengths = () if op.lengths is None else (op.lengths,)
    reads = (op.input, *lengths, *given)
    cell = _CELLS[type(op)]
    types = (ctype, "float" if suffix == "f32" else "int16_t")
    return {
        "function": f"tg_{cell}_{suffix}",
        "reads": reads,
        "writes": op.outputs,
        "updates": op.states if op.is_kept else (),
        "tables": (*tables, *constant_tables(*reads)),
        "cell": cell,
        "ctype": ctype,
        "batches": op.batches,
        "steps": op.steps,
        "inputs": op.inputs,
        "units": op.units,
        "is_time_major": op.is_time_major,
        "is_reversed": op.is_reversed,
        "is_kept": op.is_kept,
        "has_lengths": op.lengths is not None,
        "states": tuple(
            StateParameter(name, kind, state in given)
            for name, kind, state in zip(_STATES, types, op.states, strict=False)
        ),
    }


def _is_zero(state: Tensor) -> bool:
    """Whether all bytes of it are known to be zero."""
    return state.data is not None and not state.data.any()


def _gate(op: Recurrent, number: int) -> tuple[list[Table], Gate]:
    """The tables of a gate, and how they are multiplied."""
    bias, name = op.biases[number], op.gates[number]
    last = op.products[len(op.gates) + number].bias
    ends = (
        ("input", op.kernels[number], op.input, bias, op.input_scaling(number)),
        ("hidden", op.recurrent[number], op.hidden, last, op.hidden_scaling(number)),
    )
    tables, products = list[Table](), dict[str, GateProducts]()
    for side, weights, values, start, scaling in ends:
        by_unit = values.type.zero_point * stored(weights).astype(np.int64).sum(axis=1)
        sums = (0 if start is None else stored(start).astype(np.int64)) - by_unit
        starts = f"{name}_{side}_starts" if sums.any() else None
        tables.append(Table(f"{name}_{side}_weights", stored(weights)))
        if starts:
            tables.append(Table(starts, sums if op.is_wide else starts_of(sums)))
        products[side] = GateProducts(f"{name}_{side}_weights", starts, scaling)
    return tables, Gate(**products)


def _scalings(op: Recurrent) -> tuple[tuple[Scaling, ...], tuple[Member, ...]]:
    """The scalings of a layer, and its other numbers."""
    match op:
        case Lstm():
            scalings = (
                Scaling("forget", op.forget_scaling),
                Scaling("update", op.update_scaling),
                Scaling("output", op.output_scaling),
            )
            tanh = (Member("tanh_multiplier", op.tanh_scaling.multiplier), Member("tanh_shift", op.tanh_scaling.shift))
            return scalings, (*tanh, Member("clip", op.stored_clip))
        case Gru():
            names = ("memory", "keep", "update", "reset", "output")
            found = tuple(Scaling(name, getattr(op, f"{name}_scaling")) for name in names)
            return found, (Member("is_reset_behind", int(op.is_reset_behind)),)
        case Rnn():
            return (Scaling("output", op.output_scaling),), ()
    raise ValueError(f"{type(op).__name__} has no scalings")


def _mapped(function: GateFunction) -> Mapped:
    padded = (*function.parameters, 0.0, 0.0)[:2]
    return Mapped(f"tg_{function.kind.value}_f32", padded)


def stored(tensor: Tensor) -> Array:
    """The elements of a constant."""
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' is no constant")
    return tensor.data


def starts_of(sums: Int64Array) -> Array:
    """What sums of 32 bits begin with."""
    return wrap_int32(sums).astype(np.int32)


LOWERINGS: Lowerings = dict.fromkeys((Gru, Rnn), lower_stored)  # that of Lstm stands beside CMSIS-NN's
FLOAT_LOWERINGS: Lowerings = dict.fromkeys(_CELLS, lower_real)
