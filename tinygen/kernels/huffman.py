"""Weights of int8 in a canonical Huffman code, for tg_huffman.h, which has the format."""

from functools import cached_property

import numpy as np

from tinygen.ir.types import Array
from tinygen.kernels.squeezing import Bytes
from tinygen.ops.requantize import Int64Array

MOST_BITS = 12  # of a code
_VALUES = 256  # of int8
_LEAST = -128
_WORD = 4
_AT_ONCE = 1 << 16  # weights, of which arrays of 64-bit numbers are made
_READ_BEHIND = 6  # bytes behind the one in which the last code ends


class HuffmanCode:
    """The shortest code of weights [units, features] of int8 in which none has more than `bits`, 1 to `MOST_BITS`, and
    what decoding them in entries of so many bits takes. Words are made when they are asked for.

    ValueError where the weights are more different ones than so many bits tell apart.
    """

    def __init__(self, weights: Array, bits: int) -> None:
        self.bits = bits
        self._weights: Bytes = weights.ravel().view(np.uint8)  # as they index what is known of each
        self._counts = sum((np.bincount(part, minlength=_VALUES) for part in self._parts), np.zeros(_VALUES, np.int64))
        counts = self._counts.copy()
        if np.count_nonzero(counts) == 1:  # a code of one weight alone would not be complete
            counts[int(counts[0] > 0)] = 1
        (used,) = counts.nonzero()
        self._lengths: Bytes = np.zeros(_VALUES, np.uint8)
        self._lengths[used] = code_lengths(counts[used], bits)

    @property
    def weights(self) -> int:
        """Different ones that have codes."""
        return int(np.count_nonzero(self._lengths))

    @property
    def longest(self) -> int:
        """Bits of the longest code."""
        return int(self._lengths.max())

    @cached_property
    def lookups(self) -> int:
        """Entries of which each gives one weight, or two whose codes take no more than `bits` together."""
        lengths = self._lengths[self._weights]
        (breaks,) = np.nonzero(lengths[:-1] + lengths[1:] > self.bits)
        runs = np.diff(np.concatenate(([-1], breaks, [len(lengths) - 1])))
        return int((-(-runs // 2)).sum())

    @property
    def elements(self) -> int:
        """Words of the table."""
        stream = -(-int(self._counts @ self._lengths.astype(np.int64)) // 8)
        return -(-(2 * MOST_BITS + self.weights + stream + _READ_BEHIND) // _WORD)

    def words(self) -> Array:
        """The table, int32."""
        used = np.arange(_LEAST, _LEAST + _VALUES).astype(np.int8).view(np.uint8)  # by rising weights
        used = used[self._lengths[used] > 0]
        ordered = used[np.argsort(self._lengths[used], kind="stable")]
        counts = np.bincount(self._lengths[used], minlength=MOST_BITS + 1)[1:]
        bytes = np.concatenate((counts.astype("<u2").view(np.uint8), ordered, self._stream(ordered)))
        return np.pad(bytes, (0, _WORD * self.elements - len(bytes))).view("<i4").astype(np.int32)

    @property
    def _parts(self) -> list[Bytes]:
        return np.array_split(self._weights, -(-len(self._weights) // _AT_ONCE))

    def _stream(self, ordered: Bytes) -> Bytes:
        codes = np.zeros(_VALUES, np.int64)
        code, before = 0, 0
        for weight in ordered.tolist():
            length = int(self._lengths[weight])
            code <<= length - before
            codes[weight], before = code, length
            code += 1
        return np.packbits(np.concatenate([_bits(codes[part], self._lengths[part]) for part in self._parts]))


def _bits(codes: Int64Array, lengths: Bytes) -> Bytes:
    """Codes of so many bits one behind the other, the highest bit of each first."""
    ends = np.cumsum(lengths, dtype=np.int64)
    below = np.repeat(ends, lengths) - 1 - np.arange(int(ends[-1]))  # bits of the same code behind each
    return (np.repeat(codes, lengths) >> below & 1).astype(np.uint8)


def code_lengths(counts: Int64Array, most_bits: int) -> Int64Array:
    """Bits of each symbol in a prefix code of the fewest bits in all, in which none has more than `most_bits`.

    By package-merge: L. L. Larmore and D. S. Hirschberg, A fast algorithm for optimal length-limited Huffman codes,
    Journal of the ACM 37 (3), 1990. ValueError for more symbols than so many bits tell apart.
    """
    symbols = len(counts)
    if symbols > 1 << most_bits:
        raise ValueError(f"{symbols} symbols have no codes of at most {most_bits} bits")
    packages = np.zeros((0, symbols), np.int64)  # how often each has each symbol
    for _ in range(most_bits):
        items = np.concatenate((np.eye(symbols, dtype=np.int64), packages))
        items = items[np.argsort(items @ counts, kind="stable")]
        whole = len(items) // 2 * 2
        packages = items[0:whole:2] + items[1:whole:2]
    return np.asarray(packages[: symbols - 1].sum(axis=0), np.int64)
