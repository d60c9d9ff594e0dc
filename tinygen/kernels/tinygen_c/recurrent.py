"""Layers that keep states."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.lstm import GATES, Lstm
from tinygen.ops.requantize import Multiplier, wrap_int32
from tinygen.ops.sigmoid_int16 import sigmoid_offsets
from tinygen.ops.svdf import Svdf


@dataclass(frozen=True, eq=False, kw_only=True)
class SvdfS8(Kernel):
    """tg_svdf_s8 or tg_svdf_s16, by the state. Zero points are part of the sums' starts."""

    template: ClassVar[str] = "svdf_s8"
    header: ClassVar[str] = "tg_recurrent.h"

    state_ctype: str
    batches: int
    inputs: int
    units: int
    rank: int
    steps: int
    to_state: Multiplier
    to_output: Multiplier
    state_zero_point: int
    output_zero_point: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SvdfF32(Kernel):
    """tg_svdf_f32."""

    template: ClassVar[str] = "svdf_f32"
    header: ClassVar[str] = "tg_recurrent.h"

    batches: int
    inputs: int
    units: int
    rank: int
    steps: int
    bounds: Clamp


@dataclass(frozen=True)
class Products:
    """Weights of a gate times values: the tables with weights and with what sums start with, and the scaling."""

    weights: str
    starts: str | None  # None where all sums start with 0
    scaling: Multiplier


@dataclass(frozen=True)
class Gate:
    """What goes into the function of a gate."""

    input: Products
    hidden: Products


@dataclass(frozen=True, eq=False, kw_only=True)
class LstmS8(Kernel):
    """tg_lstm_s8 or tg_lstm_s16, by the activations. Zero points are part of the sums' starts."""

    template: ClassVar[str] = "lstm_s8"
    header: ClassVar[str] = "tg_recurrent.h"

    ctype: str
    batches: int
    steps: int
    inputs: int
    units: int
    is_time_major: bool
    gates: tuple[Gate, ...]
    forget: Multiplier
    update: Multiplier
    tanh: Multiplier  # its shift goes to the right
    output: Multiplier
    output_zero_point: int
    clip: int


@dataclass(frozen=True, eq=False, kw_only=True)
class LstmF32(Kernel):
    """tg_lstm_f32."""

    template: ClassVar[str] = "lstm_f32"
    header: ClassVar[str] = "tg_recurrent.h"

    batches: int
    steps: int
    inputs: int
    units: int
    is_time_major: bool
    clip: float


def lower_lstm(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for long short-term memory on integers."""
    assert isinstance(op, Lstm)
    tables = [Table("sigmoid", sigmoid_offsets())]
    gates = []
    for number, name in enumerate(GATES):
        bias = stored(op.biases[number])
        ends = (
            ("input", op.kernels[number], op.input, bias, op.input_scaling(number)),
            ("hidden", op.recurrent[number], op.hidden, np.zeros_like(bias), op.hidden_scaling(number)),
        )
        products = {}
        for side, weights, values, start, scaling in ends:
            sums = start.astype(np.int64) - values.type.zero_point * stored(weights).astype(np.int64).sum(axis=1)
            starts = f"{name}_{side}_starts" if sums.any() else None
            tables.append(Table(f"{name}_{side}_weights", stored(weights)))
            if starts:
                tables.append(Table(starts, sums if op.is_wide else _starts(sums)))
            products[side] = Products(f"{name}_{side}_weights", starts, scaling)
        gates.append(Gate(**products))
    return LstmS8(
        function="tg_lstm_s16" if op.is_wide else "tg_lstm_s8",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.hidden, op.cell),
        tables=tuple(tables),
        ctype="int16_t" if op.is_wide else "int8_t",
        batches=op.batches,
        steps=op.steps,
        inputs=op.inputs,
        units=op.units,
        is_time_major=op.is_time_major,
        gates=tuple(gates),
        forget=op.forget_scaling,
        update=op.update_scaling,
        tanh=op.tanh_scaling,
        output=op.output_scaling,
        output_zero_point=op.hidden.type.zero_point,
        clip=op.stored_clip,
    )


def lower_lstm_f32(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for long short-term memory on real numbers."""
    assert isinstance(op, Lstm)
    roles = (("kernel", op.kernels), ("recurrent", op.recurrent), ("bias", op.biases))
    return LstmF32(
        function="tg_lstm_f32",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.hidden, op.cell),
        tables=tuple(
            Table(f"{name}_{role}", stored(tensors[number]))
            for number, name in enumerate(GATES)
            for role, tensors in roles
        ),
        batches=op.batches,
        steps=op.steps,
        inputs=op.inputs,
        units=op.units,
        is_time_major=op.is_time_major,
        clip=op.cell_clip,
    )


def stored(tensor: Tensor) -> Array:
    """The elements of a constant."""
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' is no constant")
    return tensor.data


def lower_svdf(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a layer on integers."""
    assert isinstance(op, Svdf) and op.features.data is not None and op.times.data is not None
    features, times = op.features.data.astype(np.int64), op.times.data.astype(np.int64)
    bias = np.zeros(op.units, np.int64) if op.bias is None or op.bias.data is None else op.bias.data.astype(np.int64)
    by_unit = times.reshape(op.units, -1).sum(axis=1)
    is_wide = op.state.type.dtype is DType.INT16
    return SvdfS8(
        function="tg_svdf_s16" if is_wide else "tg_svdf_s8",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.state,),
        tables=(
            Table("features", op.features.data),
            Table("times", op.times.data),
            Table("feature_starts", _starts(-op.input.type.zero_point * features.sum(axis=1))),
            Table("time_starts", _starts(bias - op.state.type.zero_point * by_unit)),
        ),
        state_ctype="int16_t" if is_wide else "int8_t",
        batches=op.batches,
        inputs=op.input.shape[1],
        units=op.units,
        rank=op.rank,
        steps=op.steps,
        to_state=op.to_state,
        to_output=op.to_output,
        state_zero_point=op.state.type.zero_point,
        output_zero_point=op.result.type.zero_point,
    )


def lower_svdf_f32(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for a layer on real numbers."""
    assert isinstance(op, Svdf) and op.features.data is not None and op.times.data is not None
    bias = np.zeros(op.units, np.float32) if op.bias is None or op.bias.data is None else op.bias.data
    return SvdfF32(
        function="tg_svdf_f32",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.state,),
        tables=(Table("features", op.features.data), Table("times", op.times.data), Table("bias", bias)),
        batches=op.batches,
        inputs=op.input.shape[1],
        units=op.units,
        rank=op.rank,
        steps=op.steps,
        bounds=op.limits,
    )


def _starts(sums: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """What sums of 32 bits begin with."""
    return wrap_int32(sums).astype(np.int32)


LOWERINGS: Lowerings = {Lstm: lower_lstm, Svdf: lower_svdf}
FLOAT_LOWERINGS: Lowerings = {Lstm: lower_lstm_f32, Svdf: lower_svdf_f32}
