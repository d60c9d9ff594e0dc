"""Two pixels in one word, x0 + 65536 * x1: one multiplication for both, parted after a few elements of a filter.

With s0 and s1 for what elements w of a filter add to the sums of two pixels,

    p  = sum((x0 + 65536 * x1) * w) = s0 + 65536 * s1             modulo 2**32
    s1 = (p + 2**15) >> 16                                        where -2**15 <= s0, s1 < 2**15

and with T for all p of a filter, H for all s1, the sums are T - 65536 * H and H, modulo 2**32. What elements add is
proven from their weights, over all int8 inputs: at most 128 for each of a positive weight below zero and of a negative
one above, 127 for the others. So any two elements can stand together but two of -128, and four of them where their
weights are small enough, which a bit of each four says (see tg_native_gemm.h).

Armv6-M has 8 registers for all this: a channel is computed after the other, with bits of its own for each 8 elements
(see tg_native_gemm_twin8.h).
"""

import numpy as np

from tinygen.ir.coding import Mask
from tinygen.ir.types import Array
from tinygen.ops.requantize import Int64Array
from tinygen.targets.isa import Isa

_HALF = 1 << 15
_TWO = 2  # elements
_FOUR = 4
_EIGHT = 8
_CODES = {_EIGHT: "0", _FOUR: "10", _TWO: "11"}
_EIGHTS = 16  # that a word of such bits is for
_BITS = 32  # of a word
LARGEST_SUM = (1 << 29) - 1  # on Armv6-M: products with halves of a multiplier add up to 32 bits
_FEWEST_ELEMENTS = 8  # of a filter: each saves 3 or 4 instructions for 2 channels of 4 pixels, which take 12 more
_FEWEST_CHANNELS = 8  # each pair saves as much for an element, to arrange 4 pixels beside a border takes 12


def gains(isa: Isa, channels: int, elements: int) -> bool:
    """Whether two pixels at once are faster: on cores that multiply and add apart, and one number at a time."""
    return isa.is_riscv and channels >= _FEWEST_CHANNELS and elements >= _FEWEST_ELEMENTS


def gains_alone(has_thumb2: bool, channels: int) -> bool:
    """Whether those that take the channels one by one, in groups of 8, are: on Armv6-M."""
    return not has_thumb2 and channels >= _FEWEST_CHANNELS


def gains_units(isa: Isa, features: int) -> bool:
    """The same for two units of a fully connected layer, 8 elements at a time."""
    return isa.is_riscv and features % _EIGHT == 0 and features >= _FEWEST_ELEMENTS


def gains_units_alone(has_thumb2: bool, features: int) -> bool:
    """Whether those that take pairs of units one by one are: on Armv6-M."""
    return not has_thumb2 and features % _EIGHT == 0


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


def eights_of(weights: Array) -> Int64Array:
    """[channel, eight] of weights [channel, element] in the order of columns: how many are parted together.

    Four elements behind the last eight are no part of it.
    """
    whole = weights[:, : weights.shape[1] // _EIGHT * _EIGHT].astype(np.int64)
    fits = {size: _fits(whole.reshape(len(whole), -1, _EIGHT // size, size)).all(axis=-1) for size in (_EIGHT, _FOUR)}
    return np.where(fits[_EIGHT], _EIGHT, np.where(fits[_FOUR], _FOUR, _TWO))


def bits_of(sizes: Int64Array) -> Array:
    """Words [channel, word] that say so, of 16 eights each: 0 for 8 elements, 10 for 4 and 11 for 2."""
    words = [[_word(block) for block in _blocks(row.tolist())] for row in sizes]
    return np.array(words, np.uint32).reshape(len(sizes), -1).view(np.int32)


def _blocks(sizes: list[int]) -> list[list[int]]:
    return [sizes[first : first + _EIGHTS] for first in range(0, len(sizes), _EIGHTS)]


def _word(sizes: list[int]) -> int:
    return int("".join(_CODES[size] for size in sizes).ljust(_BITS, "0"), 2)


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
