"""Layers on float32 whose weights are numbers of tables, or of which only those that are not 0 are stored."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table, constant_tables
from tinygen.kernels.float32.coded import FLOAT_BYTES, Codes, bias_tables, codes_of, is_vector, scale_tables
from tinygen.kernels.float32.windows import WindowF32
from tinygen.kernels.listing import Listing, listing_of, listing_tables
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveListedF32(Kernel):
    """tg_convolve_listed_f32: expands one filter at a time to scratch."""

    template: ClassVar[str] = "convolve_listed_f32"
    header: ClassVar[str] = "tg_listed.h"
    takes_scratch: ClassVar[bool] = True

    window: WindowF32
    listing: Listing
    codes: Codes


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedListedF32(Kernel):
    """tg_fully_connected_listed_f32: multiplies what is stored, without scratch; for one vector."""

    template: ClassVar[str] = "fully_connected_listed_f32"
    header: ClassVar[str] = "tg_listed.h"

    features: int
    units: int
    bounds: Clamp
    listing: Listing
    codes: Codes


def listed_convolution(
    coding: Coding, input: Tensor, output: Tensor, bias: Tensor | None, window: WindowF32
) -> ConvolveListedF32 | FullyConnectedListedF32:
    """The kernel for filters of this coding."""
    tables = (*constant_tables(input), *_tables(coding), *bias_tables(bias))
    filters = coding.codes.shape
    if is_vector(window, filters):
        return FullyConnectedListedF32(
            function="tg_fully_connected_listed_f32",
            reads=(input,),
            writes=(output,),
            tables=tables,
            features=filters[3],
            units=filters[0],
            bounds=window.bounds,
            listing=listing_of(coding),
            codes=codes_of(coding),
        )
    return ConvolveListedF32(
        function="tg_convolve_listed_f32",
        reads=(input,),
        writes=(output,),
        tables=tables,
        scratch_bytes=FLOAT_BYTES * int(np.prod(filters[1:])),
        window=window,
        listing=listing_of(coding),
        codes=codes_of(coding),
    )


def _tables(coding: Coding) -> tuple[Table, ...]:
    stored = listing_tables(coding)
    if coding.levels is not None:
        return (*stored, *scale_tables(coding), Table("levels", np.ascontiguousarray(coding.levels).reshape(-1)))
    if coding.format is not Format.FP32 and coding.bits < 8:
        return (*stored, *scale_tables(coding), Table("levels", coding.format.numbers))
    return (*stored, *scale_tables(coding))
