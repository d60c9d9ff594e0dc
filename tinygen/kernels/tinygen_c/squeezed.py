"""Fully connected layers whose int8 weights stand in flash in as many bits as their blocks need."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.kernels.base import Table
from tinygen.kernels.packing import packing
from tinygen.kernels.squeezing import Squeezing
from tinygen.kernels.tinygen_c.compact import CompactFullyConnected, compact_layer, matrix_of
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedSqueezedS8(CompactFullyConnected):
    """tg_fully_connected_squeezed_s8: unpacks weights anew for each vector, without scratch."""

    template: ClassVar[str] = "fully_connected_squeezed_s8"
    header: ClassVar[str] = "tg_squeezed.h"

    blocks: int
    words: int
    pieces: int
    empty: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """block: of at most 32 weights that are not all 0; empty: of zeros; word: of weights and widths; piece: pairs
        of weights that lie in two words."""
        vectors = Extent.of(op, rows, columns).pixels
        return work(
            self.function,
            call=1,
            pixel=vectors,
            output=vectors * self.units,
            block=vectors * self.blocks,
            word=vectors * self.words,
            piece=vectors * self.pieces,
            empty=vectors * self.empty,
        )


def squeezed_layer(op: Op) -> FullyConnectedSqueezedS8:
    """The kernel for a layer that `can_be_compact`."""
    assert isinstance(op, Weighted)
    squeezing = Squeezing(matrix_of(op))
    return compact_layer(
        FullyConnectedSqueezedS8,
        "tg_fully_connected_squeezed_s8",
        op,
        Table("words", packing(("tg_squeezed", op.weights), squeezing.elements, squeezing.words)),
        blocks=int(np.count_nonzero(squeezing.widths)),
        words=squeezing.read_words,
        pieces=squeezing.pieces,
        empty=int(np.count_nonzero(squeezing.widths == 0)),
    )
