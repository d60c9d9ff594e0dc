"""Layers whose filters are of rank one in features and time: CMSIS-NN's functions where they are exact."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from tinygen.ir.channels import Intervals
from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Library, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.beside import library_or_own
from tinygen.kernels.cmsis_nn.bounds import INT32_END, any_centered, fits, scaled, sums_of_products
from tinygen.kernels.tinygen_c.recurrent import stored
from tinygen.kernels.tinygen_c.svdf import SvdfS8, lower_svdf
from tinygen.ops.svdf import Svdf

_SUM = DType.INT32.bytes
_MOST_ZERO_POINT = 1 << 7


@dataclass(frozen=True, eq=False, kw_only=True)
class LibrarySvdf(SvdfS8):
    """arm_svdf_s8 or arm_svdf_state_s16_s8. Sums of filters and of units are scratch."""

    template: ClassVar[str] = "svdf"
    header: ClassVar[str] = Kernel.header
    takes_scratch: ClassVar[bool] = True

    filters: int
    input_zero_point: int
    state_min: int
    state_max: int


def lower_library_svdf(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The kernels for a layer on integers, the cheapest first."""
    assert isinstance(op, Svdf)
    own = lower_svdf(op, toolbox)
    is_linked = toolbox.library is Library.CMSIS_NN
    return library_or_own(op, _library_svdf(op, own, toolbox) if is_linked and is_exact(op) else None, own, toolbox)


def is_exact(op: Svdf) -> bool:
    """Whether CMSIS-NN's function gives what TFLite Micro's reference kernel gives, whatever the inputs.

    It knows no zero point of states, and adds in 32 bits, which C leaves undefined where they overflow.
    """
    if op.state.type.zero_point:
        return False
    features = sums_of_products(stored(op.features), any_centered(op.input))
    state = op.state.type
    newest = scaled(features, op.to_state)
    states = newest.each(lambda ends: np.clip(ends, state.min, state.max)).including(0)
    by_filter = Intervals(*(end[:, np.newaxis] for end in (states.low, states.high)))
    times = sums_of_products(stored(op.times), by_filter)
    largest = np.maximum(-times.low, times.high).reshape(op.units, op.rank).sum(axis=1) + np.abs(op.biases)
    sums = Intervals(-largest, largest)
    return (
        fits(features, INT32_END)
        and fits(newest, INT32_END)
        and fits(sums, INT32_END)
        and fits(scaled(sums, op.to_output), INT32_END - _MOST_ZERO_POINT)
    )


def _library_svdf(op: Svdf, own: SvdfS8, toolbox: Toolbox) -> LibrarySvdf:
    tables = [Table("features", stored(op.features)), Table("times", stored(op.times))]
    if op.bias is not None:
        tables.append(Table("bias", stored(op.bias)))
    is_wide = op.state.type.dtype is DType.INT16
    if toolbox.has_mve_kernels and not is_wide:
        tables.append(own.table("feature_starts"))
    changed = {
        "function": "arm_svdf_state_s16_s8" if is_wide else "arm_svdf_s8",
        "tables": tuple(tables),
        "scratch_bytes": _SUM * op.batches * (op.filters_of_units + op.units),
    }
    return LibrarySvdf(
        **{**{field.name: getattr(own, field.name) for field in fields(own)}, **changed},
        filters=op.filters_of_units,
        input_zero_point=op.input.type.zero_point,
        state_min=op.state.type.min,
        state_max=op.state.type.max,
    )


LOWERINGS: Lowerings = {Svdf: lower_library_svdf}
