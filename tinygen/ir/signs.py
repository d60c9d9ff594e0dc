"""Activations of single bits in memory: the channels of a pixel in words of 32 signs, each pixel's padded with zeros.

Bit 0 of a word is its first element; a bit that is set stands for 1, one that is not for -1.
"""

import numpy as np
import numpy.typing as npt

from tinygen.ir.types import Array

WORD_BITS = 32

Words = npt.NDArray[np.uint32]


def words_of(depth: int) -> int:
    """Words that so many signs take."""
    return -(-depth // WORD_BITS)


def pack_signs(signs: Array) -> Words:
    """Words [..., words_of(depth)] of signs [..., depth], set where these are positive."""
    depth = signs.shape[-1]
    bits = np.zeros((*signs.shape[:-1], words_of(depth) * WORD_BITS), np.uint8)
    bits[..., :depth] = np.greater(signs, 0)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32)


def unpack_signs(words: Words, depth: int) -> npt.NDArray[np.int8]:
    """The signs [..., depth] of words [..., words_of(depth)]."""
    stored = np.ascontiguousarray(words).astype("<u4").view(np.uint8)
    bits = np.unpackbits(stored, axis=-1, count=depth, bitorder="little").astype(np.int8)
    return (2 * bits - 1).astype(np.int8)
