"""Convolutions and fully connected layers on int8 whose weights are narrow codes with factors for blocks of them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.integer_form import IntegerForm, integer_form
from tinygen.ir.packing import packed_codes
from tinygen.ir.types import DType
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.kernels.geometry import Geometry, form_of
from tinygen.kernels.tinygen_c.listed import ConvolveListedS8, listed_layer
from tinygen.kernels.tinygen_c.unpacking import NUMBER_BYTES, UnpackingKernel
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveCodedS8(UnpackingKernel):
    """tg_convolve_coded_s8: decodes filters to scratch, for all pixels."""

    template: ClassVar[str] = "convolve_coded_s8"
    header: ClassVar[str] = "tg_coded_s8.h"

    bits: int
    block: int
    next_zero: int
    is_signed: bool


def coded_layers(op: Weighted) -> tuple[ConvolveCodedS8 | ConvolveListedS8, ...]:
    """The kernels for weights that are stored narrower than their integers, the fastest first; none for others."""
    if op.weights.type.dtype is DType.INT8 and op.weights.coding is not None:
        listed = listed_layer(op, op.weights.coding)
        return () if listed is None else (listed,)
    if not op.output_stage.has_long_sums or op.weights.coding is None:
        return ()
    coding = op.weights.coding.as_filters(op.filters.channel_axis)
    form = None if coding is None else integer_form(coding)
    if coding is None or form is None:
        raise ValueError(f"weights '{op.weights.name}' have no form in integers")
    channels, _, _, depth = coding.codes.shape
    layer = form_of(op)
    geometry = Geometry.of(layer)
    zero_shape = None if coding.zero_points is None else coding.zero_points.shape
    kernel = ConvolveCodedS8(
        function="tg_convolve_coded_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=_tables(coding, form, op.output_stage),
        scratch_bytes=NUMBER_BYTES * geometry.window,
        geometry=geometry,
        filters_of_group=layer.filters_of_group,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        activation=op.clamp,
        bits=coding.format.bits,
        block=depth // form.factors.shape[1],
        next_zero=0 if zero_shape is None or zero_shape[0] == 1 < channels else zero_shape[3],
        is_signed=coding.format.is_signed,
    )
    return kernel.by_scratch()


def _tables(coding: Coding, form: IntegerForm, stage: OutputStage) -> tuple[Table, ...]:
    channels = len(form.factors)
    tables = [Table("weights", packed_codes(coding.codes))]
    if coding.format.bits < 8:
        halves = 2 if coding.format is Format.FP4_E2M1FN else 1
        tables.append(Table("levels", (coding.format.numbers * halves).astype(np.int8)))
    if coding.zero_points is not None:
        tables.append(Table("zero_points", np.ascontiguousarray(coding.zero_points).reshape(-1).view(np.uint8)))
    if form.has_factors and form.are_powers:
        tables.append(Table("powers", np.log2(form.factors).astype(np.uint8).reshape(-1)))
    elif form.has_factors:
        tables.append(Table("factors", form.factors.astype(np.int16).reshape(-1)))
    shifts = stage.sum_shifts.astype(np.int64)
    rounded = np.left_shift(1, np.maximum(shifts - 1, 0)) * (shifts > 0)  # what is lost is rounded, halves up
    tables.append(Table("start", stage.biases(len(shifts)) + rounded))
    tables.append(Table("sum_shift", shifts.astype(np.uint8)))
    return (*tables, *per_channel_tables(stage, channels))
