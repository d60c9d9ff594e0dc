"""Layers whose filters are of rank one in features and time."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.tinygen_c.recurrent import starts_of
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Multiplier
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

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - it is whole
        """filter: of each batch; vector: begun 16 features of one; step: of one; rest: behind its last four of both."""
        assert isinstance(op, Svdf)
        filters, sizes = op.batches * op.filters_of_units, (op.input.shape[1], op.steps)
        return work(
            self.function,
            call=1,
            filter=filters,
            output=op.batches * op.units,
            mac=op.macs,
            vector=filters * -(-sizes[0] // 16),
            step=filters * op.steps,
            rest=filters * sum(size % 4 for size in sizes),
        )


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


def lower_svdf(op: Op, toolbox: Toolbox) -> SvdfS8:  # noqa: ARG001 - the same for all targets
    """The kernel for a layer on integers."""
    assert isinstance(op, Svdf) and op.features.data is not None and op.times.data is not None
    features, times = op.features.data.astype(np.int64), op.times.data.astype(np.int64)
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
            Table("feature_starts", starts_of(-op.input.type.zero_point * features.sum(axis=1))),
            Table("time_starts", starts_of(op.biases - op.state.type.zero_point * by_unit)),
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


FLOAT_LOWERINGS: Lowerings = {Svdf: lower_svdf_f32}
