"""Which weights are stored, and the tables that their codes choose from: struct tg_list."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.packing import packed_bits
from tinygen.ir.types import Array
from tinygen.kernels.base import Table


@dataclass(frozen=True)
class Listing:
    """struct tg_list, of filters [channels, height, width, depth]."""

    next_table: int
    filters_of_table: int


def listing_of(coding: Coding) -> Listing:
    """How tables follow each other."""
    channels = coding.codes.shape[0]
    tables = 1 if coding.levels is None else coding.levels.shape[0]
    numbers = 0 if coding.levels is None else coding.levels.shape[-1]
    return Listing(next_table=numbers if tables > 1 else 0, filters_of_table=channels // tables)


def listing_tables(coding: Coding) -> tuple[Table, ...]:
    """Codes, or the weights themselves, of those that are stored, and the mask; one element where none is."""
    stored = coding.stored_codes
    if coding.format is Format.FP32:
        tables = [Table("stored", _filled(stored.astype(np.float32)))]
    else:
        tables = [Table("weights", _filled(packed_bits(stored, coding.bits)))]
    if coding.mask is not None:
        tables.append(Table("mask", packed_bits(coding.mask, 1)))
    return tuple(tables)


def _filled(stored: Array) -> Array:
    return stored if stored.size else np.zeros(1, stored.dtype)
