"""Weights of int8 in as many bits as blocks of them need, for tg_squeezed.h, which has the format."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array
from tinygen.ops.requantize import Int64Array

Bytes = npt.NDArray[np.uint8]

BLOCK = 32
_QUAD = 4
_HALF_BITS = 16
_WIDTHS_OF_WORD = 8
_WIDEST = 8


class Squeezing:
    """The words of weights [units, features] of int8: widths are looked at now, words are made when they are asked for.

    n weights of b bits take ceil(2 ceil(n/4) b / 16) words, and widths 4 bits a block.
    """

    def __init__(self, weights: Array) -> None:
        features = weights.shape[1]
        padded = np.pad(weights, ((0, 0), (0, -features % BLOCK)))
        self._blocks = padded.reshape(-1, BLOCK)  # those of each unit side by side
        self.widths = widths_of(self._blocks)
        self._words = self.widths.copy()  # that each has in the table
        last = slice(padded.shape[1] // BLOCK - 1, None, padded.shape[1] // BLOCK)
        pairs = 2 * -(-(features - (padded.shape[1] - BLOCK)) // _QUAD)
        self._words[last] = -(-pairs * self.widths[last] // _HALF_BITS)

    @property
    def read_words(self) -> int:
        """Words that a call reads and needs, those of widths too."""
        return int(self._words.sum()) + -(-len(self._words) // _WIDTHS_OF_WORD)

    @property
    def pieces(self) -> int:
        """Pairs of weights that lie in two words."""
        starts = np.arange(_HALF_BITS) * np.arange(_WIDEST + 1)[:, None] % _HALF_BITS
        of_width = (starts + np.arange(_WIDEST + 1)[:, None] > _HALF_BITS).sum(axis=1)
        return int(of_width[self.widths].sum())

    @cached_property
    def _starts(self) -> Int64Array:
        """Where each block's words begin."""
        before = np.cumsum(self._words) - self._words
        return np.asarray(before + np.arange(len(before)) // _WIDTHS_OF_WORD + 1, np.int64)

    @property
    def elements(self) -> int:
        """Words of the table: a whole block is read wherever one begins."""
        return int((self._starts + self.widths).max())

    def words(self) -> Array:
        """The table, int32."""
        found = np.zeros(self.elements, np.uint32)
        for width in range(1, _WIDEST + 1):
            at = np.flatnonzero(self.widths == width)
            words = _packed(self._blocks[at], width)
            is_stored = np.arange(width) < self._words[at, None]
            found[(self._starts[at, None] + np.arange(width))[is_stored]] = words[is_stored]
        widths = np.pad(self.widths, (0, -len(self.widths) % _WIDTHS_OF_WORD)).reshape(-1, _WIDTHS_OF_WORD)
        shifts = 4 * np.arange(_WIDTHS_OF_WORD)
        found[self._starts[::_WIDTHS_OF_WORD] - 1] = (widths << shifts).sum(axis=1)
        return found.view(np.int32)


def widths_of(blocks: Array) -> Int64Array:
    """Bits of two's complement that each row's values of int8 need; 0 where all are 0."""
    wide = blocks.astype(np.int64)
    magnitudes = np.where(wide < 0, ~wide, wide).max(axis=1)
    bits = np.frexp(magnitudes.astype(np.float64))[1]  # of a whole number: its bits
    return np.where(wide.any(axis=1), bits + 1, 0).astype(np.int64)


def _packed(blocks: Array, width: int) -> Array:
    """Words [block, width] of whole blocks."""
    quads: Bytes = blocks.view(np.uint8).reshape(len(blocks), BLOCK // _QUAD, _QUAD)
    halves = [_string(quads[..., half], width) for half in (slice(0, 2), slice(2, 4))]
    return np.asarray(halves[0] | halves[1] << _HALF_BITS, np.uint32)


def _string(values: Bytes, width: int) -> Int64Array:
    """The lowest bits of uint8 values [block, 8, 2], one value after the other, as 16-bit numbers."""
    bits = np.unpackbits(values[..., None], axis=-1, bitorder="little")[..., :width]
    bytes = np.packbits(bits.reshape(len(values), _HALF_BITS * width), axis=1, bitorder="little")
    return bytes.view("<u2").astype(np.int64)
