"""Layers on int8 whose weights are numbers of tables, or of which only those that are not 0 are stored."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.kernels.geometry import GeometricKernel, Geometry, form_of
from tinygen.kernels.listing import Listing, listing_of, listing_tables
from tinygen.kernels.tinygen_c.packed import bias_tables
from tinygen.kernels.tinygen_c.unpacking import FILTERS_AT_ONCE, one_by_one
from tinygen.kernels.work import Work
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveListedS8(GeometricKernel):
    """tg_convolve_listed_s8: expands up to four filters of a group at a time to scratch."""

    template: ClassVar[str] = "convolve_listed_s8"
    header: ClassVar[str] = "tg_listed_s8.h"
    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    bits: int
    listing: Listing
    stored: int  # weights that have codes

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """stored: weights that are not left out as 0."""
        plain = super().work(op, rows, columns)
        return Work(plain.function, {**plain.times, "stored": self.stored})

    @property
    def priced_as(self) -> str:
        return one_by_one(self.function, self.takes_scratch and self.filters_of_group < FILTERS_AT_ONCE)


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedListedS8(ConvolveListedS8):
    """tg_fully_connected_listed_s8: multiplies what is stored, without scratch; for one vector."""

    template: ClassVar[str] = "fully_connected_listed_s8"
    takes_scratch: ClassVar[bool] = False


def listed_layer(op: Weighted, coding: Coding) -> ConvolveListedS8 | None:
    """The kernel for int8 weights of this coding, whose numbers they are; None where it is not one of filters."""
    filters = coding.as_filters(op.filters.channel_axis)
    if filters is None:
        return None
    form = form_of(op)
    geometry = Geometry.of(form)
    is_vector = form.is_vector_product
    kind = FullyConnectedListedS8 if is_vector else ConvolveListedS8
    levels = None if filters.levels is None else np.ascontiguousarray(filters.levels).reshape(-1).astype(np.int8)
    if levels is None and filters.bits < 8:
        levels = filters.format.numbers.astype(np.int8)
    return kind(
        function="tg_fully_connected_listed_s8" if is_vector else "tg_convolve_listed_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(
            *listing_tables(filters),
            *(() if levels is None else (Table("levels", levels),)),
            *bias_tables(op.output_stage.bias),
            *per_channel_tables(op.output_stage, op.channels),
        ),
        scratch_bytes=0 if is_vector else geometry.window * min(FILTERS_AT_ONCE, form.filters_of_group),
        geometry=geometry,
        filters_of_group=form.filters_of_group,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        activation=op.clamp,
        bits=filters.bits,
        listing=listing_of(filters),
        stored=filters.stored_codes.size,
    )
