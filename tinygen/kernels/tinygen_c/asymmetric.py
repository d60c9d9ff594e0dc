"""Convolutions and fully connected layers whose weights have zero points."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.geometry import GeometricKernel, Geometry, form_of
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.quantize import flip_sign_bit
from tinygen.ops.requantize import wrap_int32
from tinygen.ops.weighted import Weighted

_UNSIGNED_OFFSET = 128  # weights are stored as int8, so much lower


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveAsymmetricS8(GeometricKernel):
    """tg_convolve_asymmetric_s8: sums of the inputs correct for the zero points of the weights."""

    template: ClassVar[str] = "convolve_asymmetric_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_asymmetric.h"
    takes_scratch: ClassVar[bool] = True

    input_zero_point: int
    output_zero_point: int


def has_zero_points(weights: Tensor) -> bool:
    """Whether the weights are such that only the kernels here take them."""
    return weights.type.dtype is DType.UINT8


def asymmetric_layer(op: Weighted) -> ConvolveAsymmetricS8:
    """Any layer that is a convolution, its filters stored one after the other."""
    if op.weights.data is None:
        raise ValueError(f"'{op.weights.name}' must be a constant")
    stage, form = op.output_stage, form_of(op)
    filters = op.by_output(flip_sign_bit(op.weights.data))
    geometry = Geometry.of(form)
    return ConvolveAsymmetricS8(
        function="tg_convolve_asymmetric_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(
            Table("weights", np.ascontiguousarray(filters)),
            *_correction_tables(stage, filters),
            *per_channel_tables(stage, op.channels),
        ),
        scratch_bytes=geometry.window,
        scratch_align=1,
        geometry=geometry,
        filters_of_group=form.filters_of_group,
        input_zero_point=stage.input.type.zero_point,
        output_zero_point=stage.output.type.zero_point,
        activation=stage.clamp,
    )


def _correction_tables(stage: OutputStage, filters: Array) -> tuple[Table, ...]:
    """Zero points, and what does not depend on the input, of stored weights [C_OUT, products].

    The formula stands in `tg_asymmetric.h`.
    """
    quant, channels = stage.weights.type.quant, len(filters)
    assert quant is not None
    zero_points = np.broadcast_to(np.array(quant.zero_points, np.int64) - _UNSIGNED_OFFSET, channels)
    input_zero_point = stage.input.type.zero_point
    sums = filters.astype(np.int64).sum(axis=1)
    offsets = input_zero_point * (filters[0].size * zero_points - sums)
    constant = wrap_int32(stage.biases(channels) + offsets)
    return Table("zero_point", zero_points.astype(np.int32)), Table("constant", constant.astype(np.int32))
