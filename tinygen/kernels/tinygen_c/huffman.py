"""Fully connected layers whose int8 weights stand in flash in a Huffman code."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Table
from tinygen.kernels.huffman import MOST_BITS, HuffmanCode
from tinygen.kernels.packing import packing
from tinygen.kernels.tinygen_c.compact import CompactFullyConnected, compact_layer, matrix_of
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.weighted import Weighted

_ENTRY_BYTES = 4
_UNITS_AT_ONCE = 4
_SPARE_BYTES = 8
_LEAST_BITS = 9  # of what is looked up: with fewer, codes get longer, and there are few pairs


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedHuffmanS8(CompactFullyConnected):
    """tg_fully_connected_huffman_s8: makes a table of what codes mean in each call, and decodes some units at a time
    for all vectors."""

    template: ClassVar[str] = "fully_connected_huffman_s8"
    header: ClassVar[str] = "tg_huffman.h"
    takes_scratch: ClassVar[bool] = True

    bits: int
    codes: int
    lookups: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """code: of the weights that have one; entry: of the table; lookup: of one or two weights; product: of a vector
        and a weight."""
        vectors = Extent.of(op, rows, columns).pixels
        return work(
            self.function,
            call=1,
            code=self.codes,
            entry=1 << self.bits,
            lookup=self.lookups,
            unit=self.units,
            output=vectors * self.units,
            product=vectors * self.units * self.features,
        )


def huffman_layers(op: Op) -> tuple[FullyConnectedHuffmanS8, ...]:
    """The kernels for a layer that `can_be_compact`, each with half the table of the one before, and a longer code."""
    assert isinstance(op, Weighted)
    weights = matrix_of(op)
    bits = range(MOST_BITS, _LEAST_BITS - 1, -1)
    return tuple(huffman_layer(op, HuffmanCode(weights, most)) for most in bits)


def huffman_layer(op: Weighted, code: HuffmanCode) -> FullyConnectedHuffmanS8:
    """The kernel that looks up as many bits at a time as the code of the layer's weights is made for."""
    units, features = matrix_of(op).shape
    return compact_layer(
        FullyConnectedHuffmanS8,
        "tg_fully_connected_huffman_s8",
        op,
        Table("code", packing(("tg_huffman", op.weights, code.bits), code.elements, code.words)),
        scratch_bytes=(_ENTRY_BYTES << code.bits) + min(units, _UNITS_AT_ONCE) * features + _SPARE_BYTES,
        bits=code.bits,
        codes=code.weights,
        lookups=code.lookups,
    )
