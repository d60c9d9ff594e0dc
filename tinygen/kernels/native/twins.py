"""Two pixels in one word, x0 + 65536 * x1: one multiplication for both, parted after a few elements of a filter.

With s0 and s1 for what elements w of a filter add to the sums of two pixels,

    p  = sum((x0 + 65536 * x1) * w) = s0 + 65536 * s1             modulo 2**32
    s1 = (p + 2**15) >> 16                                        where -2**15 <= s0, s1 < 2**15

and with T for all p of a filter, H for all s1, the sums are T - 65536 * H and H, modulo 2**32. What elements add is
proven from their weights, over all int8 inputs: at most 128 for each of a positive weight below zero and of a negative
one above, 127 for the others. So any two elements can stand together but two of -128, and four of them where their
weights are small enough, which a bit of each four says (see tg_native_gemm.h).
"""

import numpy as np

from tinygen.ir.coding import Mask
from tinygen.ir.types import Array
from tinygen.ops.requantize import Int64Array
from tinygen.targets.isa import Isa

_HALF = 1 << 15
_FOUR = 4  # elements
_EIGHT = 8
_BITS = 32  # of a word
_FEWEST_ELEMENTS = 8  # of a filter: each saves 3 or 4 instructions for 2 channels of 4 pixels, which take 12 more
_FEWEST_CHANNELS = 8  # each pair saves as much for an element, to arrange 4 pixels beside a border takes 12


def gains(isa: Isa, channels: int, elements: int) -> bool:
    """Whether two pixels at once are faster: on cores that multiply and add apart, and one number at a time."""
    return isa.is_riscv and channels >= _FEWEST_CHANNELS and elements >= _FEWEST_ELEMENTS


def gains_units(isa: Isa, features: int) -> bool:
    """The same for two units of a fully connected layer, 8 elements at a time."""
    return isa.is_riscv and features % _EIGHT == 0 and features >= _FEWEST_ELEMENTS


def can_twin_units(weights: Array) -> bool:
    """Whether each two elements, side by side, of weights [unit, element] can be parted."""
    return bool(_fits(weights.astype(np.int64).reshape(len(weights), -1, 2)).all())


def parted_eights(weights: Array) -> Mask:
    """[group, eight] of weights [group, unit, element]: where 8 elements of a unit must be parted."""
    eights = weights.astype(np.int64).reshape(*weights.shape[:2], -1, _EIGHT)
    found: Mask = np.logical_not(np.logical_and.reduce(_fits(eights), axis=1))
    return found


def can_twin(weights: Array) -> bool:
    """Whether each two elements that stand together, of filters [channel, element], can be parted."""
    twos = weights.astype(np.int64).reshape(len(weights), -1, 2, 2)  # of 4 elements k: k and k + 2, k + 1 and k + 3
    return bool(_fits(twos.transpose(0, 1, 3, 2)).all())


def parted_share(weights: Array, pairs: Int64Array) -> float:
    """Of each four elements of `pairs` [pair, 2] of channels, those that are parted after two."""
    return float(_is_parted(weights, pairs).mean())


def with_bits(words: Array, weights: Array, pairs: Int64Array) -> Array:
    """Words [pair, 2 * fours] of weights with those that say which fours are parted: each in front of 32 of them."""
    parted = _is_parted(weights, pairs)
    return inserted(words, parted)


def inserted(words: Array, parted: Mask) -> Array:
    """Words [row, word] with bits [row, bit] as words in front of those that 32 bits are for each."""
    padded = np.pad(parted, ((0, 0), (0, -parted.shape[1] % _BITS)))
    bits = np.packbits(padded, axis=1).reshape(-1).view(">u4").astype(np.uint32).view(np.int32).reshape(len(words), -1)
    step = _BITS * words.shape[1] // parted.shape[1]
    found: Array = np.insert(words, np.arange(0, words.shape[1], step), bits, axis=1)
    return found


def bit_words(elements: int, at_once: int = _FOUR) -> int:
    """Of a pair of filters, or of a group of units with 8 elements for a bit."""
    return -(-elements // (at_once * _BITS))


def _is_parted(weights: Array, pairs: Int64Array) -> Mask:
    """[pair, four], for either channel."""
    fours = weights.astype(np.int64).reshape(len(weights), -1, _FOUR)
    fits = _fits(fours)[pairs]
    return np.logical_not(fits[:, 0] & fits[:, 1])


def _fits(weights: Int64Array) -> Mask:
    """Whether the products of the last axis with int8 inputs add up to 16-bit numbers."""
    positive, negative = np.maximum(weights, 0).sum(axis=-1), np.maximum(-weights, 0).sum(axis=-1)
    found: Mask = np.logical_and(128 * positive + 127 * negative <= _HALF, 127 * positive + 128 * negative < _HALF)
    return found
