"""Fixed-point arithmetic of audio front ends, as TFLite Micro's signal library and the older microfrontend have it.

Unsigned 32-bit numbers are int64 that hold them, cut to 32 bits where C's would wrap.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tinygen.ops.requantize import Int64Array, wrap_int32

Uint64Array = npt.NDArray[np.uint64]

GAIN_ENTRIES = 125  # of a table of gains: two, then of each further length in bits two values and their curve, but one
_WORD = (1 << 32) - 1
_SNR_BITS, _GAINED_BITS = 12, 6  # fraction bits of a signal-to-noise ratio, and of what becomes of it
_LOG2_E = 45426  # 2^16 / log2(e), cut off
_LOG_SEGMENTS = 7  # bits
_LOWEST = -(1 << 15)


def bit_lengths(values: Int64Array) -> Int64Array:
    """Bits that each number below 2^32 takes; 0 for 0."""
    _, exponents = np.frexp(values.astype(np.float64))  # exact below 2^53
    lengths: Int64Array = exponents.astype(np.int64)
    return lengths


def windowed(samples: Int64Array, weights: Int64Array, shift: int) -> Int64Array:
    """samples * weights / 2^shift, rounded down, within int16."""
    products: Int64Array = (samples * weights) >> shift
    return np.minimum(np.maximum(products, _LOWEST), -_LOWEST - 1)


def scale_bits(values: Int64Array, counts_lowest: bool) -> int:
    """By how many bits int16 numbers can be shifted to the left: TFLite Micro's, or with `counts_lowest` off the
    microfrontend's, for which -32768 is no large number. Zeros: 0, or all 15."""
    if not counts_lowest:
        largest = int(np.abs(values[values != _LOWEST], dtype=np.int64).max(initial=0))
        return 15 - largest.bit_length()
    largest = _largest_of_int16(values)
    return 0 if largest <= 0 else 15 - largest.bit_length()


def _largest_of_int16(values: Int64Array) -> int:
    """The largest magnitude as an int16 that is compared on the way, so that 32768 becomes the smallest number."""
    (lowest,) = np.nonzero(values == _LOWEST)
    if not len(lowest):
        return int(np.abs(values).max(initial=0))
    largest = _LOWEST
    for at in range(int(lowest[-1]) + 1, len(values)):
        value = int(values[at])
        if value > largest:
            largest = value
        elif -value > largest:
            largest = -value
        if largest >= 0:
            return max(largest, int(np.abs(values[at:]).max()))
    return largest


def square_roots(values: Uint64Array) -> Int64Array:
    """Rounded to the nearest, but not beyond 16 bits for what fits 32 bits, nor beyond 32."""
    roots = np.sqrt(values.astype(np.float64)).astype(np.uint64)
    roots = np.minimum(roots, np.uint64(_WORD))
    roots -= (roots * roots > values).astype(np.uint64)
    following = np.minimum(roots + np.uint64(1), np.uint64(_WORD))
    roots = np.where((following > roots) & (following * following <= values), following, roots)
    is_narrow = values <= np.uint64(_WORD)
    most = np.where(is_narrow, np.uint64(0xFFFF), np.uint64(_WORD))
    return np.asarray(roots + ((values - roots * roots > roots) & (roots != most)), np.int64)


@dataclass(frozen=True)
class NoiseReduction:
    """What is taken off a signal: the noise is its running mean, of channels with even and odd numbers apart."""

    smoothing: int  # of even channels; with `fraction_bits`, as those below
    one_minus_smoothing: int
    alternate_smoothing: int  # of odd ones
    alternate_one_minus_smoothing: int
    min_signal_remaining: int  # at least this share of the signal is left
    smoothing_bits: int  # fraction bits of the mean
    fraction_bits: int
    clamping: bool  # whether the mean never exceeds the signal

    def verify(self) -> None:
        """ValueError where a share takes more than 16 bits, or a shift more than 31."""
        shares = (
            self.smoothing,
            self.one_minus_smoothing,
            self.alternate_smoothing,
            self.alternate_one_minus_smoothing,
            self.min_signal_remaining,
        )
        if not all(0 <= share < 1 << 16 for share in shares):
            raise ValueError(f"shares of {list(shares)}, 0 to 65535 were expected")
        for bits in (self.smoothing_bits, self.fraction_bits):
            if not 0 <= bits < 32:
                raise ValueError(f"{bits} fraction bits, 0 to 31 were expected")

    def apply(self, signal: Int64Array, noise: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The next noise, and the signal without it; [channels] each."""
        is_odd = np.arange(len(signal)) % 2 == 1
        smoothing = np.where(is_odd, self.alternate_smoothing, self.smoothing)
        rest = np.where(is_odd, self.alternate_one_minus_smoothing, self.one_minus_smoothing)
        scaled = (signal << self.smoothing_bits) & _WORD
        mean = ((scaled * smoothing + noise * rest) >> self.fraction_bits) & _WORD
        taken = np.minimum(mean, scaled)
        floor = ((signal * self.min_signal_remaining) >> self.fraction_bits) & _WORD
        left = np.maximum((scaled - taken) >> self.smoothing_bits, floor)
        return (taken if self.clamping else mean), left


def gained(signal: Int64Array, noise: Int64Array, gains: Int64Array, shift: int) -> Int64Array:
    """Per-channel amplitude normalization (PCAN): the signal times the gain of its noise, shrunk.

    That is x^2 / 4 below 2, and x - 1 above. Fraction bits of ratios are 12, of results 6.
    """
    factor = _gains(noise, gains) & _WORD  # negative ones become large, as in C
    product = signal.astype(np.uint64) * factor.astype(np.uint64)
    ratio = np.asarray(product >> np.uint64(shift), np.uint64).astype(np.int64) & _WORD
    small = (ratio * ratio) >> (2 + 2 * _SNR_BITS - _GAINED_BITS)
    large = ((ratio >> (_SNR_BITS - _GAINED_BITS)) - (1 << _GAINED_BITS)) & _WORD
    return np.where(ratio < 2 << _SNR_BITS, small, large)


def _gains(noise: Int64Array, gains: Int64Array) -> Int64Array:
    """Gains by a curve of degree 2 for each number of bits that the noise takes."""
    bits = np.maximum(bit_lengths(noise), 2)
    first = np.clip(4 * bits - 6, 0, GAIN_ENTRIES - 3)
    part = np.where(bits < 11, noise << np.maximum(11 - bits, 0), noise >> np.maximum(bits - 11, 0)) & 0x3FF
    slope = ((gains[first + 2] * part) >> 5) + (gains[first + 1] << 5)
    curve = wrap_int32(wrap_int32(slope * part) + (1 << 14)) >> 15
    stored = (curve + gains[first]).astype(np.int16).astype(np.int64)
    return np.where(noise <= 2, gains[np.minimum(noise, 2)], stored)


@dataclass(frozen=True)
class Logarithm:
    """scale * log(signal * 2^correction_bits), rounded, within 0 to `limit`; 0 of what is 1 or less."""

    scale: int
    correction_bits: int  # to the right where negative
    limit: int

    def verify(self) -> None:
        """ValueError where a shift takes more than 31 bits, or the scale more than 32."""
        if not -32 < self.correction_bits < 32:
            raise ValueError(f"a correction by {self.correction_bits} bits, -31 to 31 were expected")
        if not 0 <= self.scale <= _WORD:
            raise ValueError(f"a scale of {self.scale}, 0 to {_WORD} was expected")

    def apply(self, signal: Int64Array) -> Int64Array:
        """Of each element."""
        bits = self.correction_bits
        corrected = (signal << bits) & _WORD if bits >= 0 else signal >> -bits
        inside = np.maximum(corrected, 2)
        whole = bit_lengths(inside) - 1
        rest = inside - (np.int64(1) << whole)
        part = np.where(whole < 16, rest << np.maximum(16 - whole, 0), rest >> np.maximum(whole - 16, 0))
        segment = part >> (16 - _LOG_SEGMENTS)
        table = log_table()
        low, high = table[segment], table[segment + 1]
        curve = ((high - low) * (part - (segment << (16 - _LOG_SEGMENTS)))) >> 16
        log2 = (whole << 16) + part + low + curve
        natural = (_LOG2_E * log2 + (1 << 15)) >> 16
        scaled = (((self.scale * natural) + (1 << 15)) & _WORD) >> 16
        return np.where(corrected > 1, np.minimum(scaled, self.limit), 0)


@cache
def log_table() -> Int64Array:
    """By how much log2(1 + i / 128) is above i / 128, in 2^-16; a last entry for the end of the last segment."""
    steps = np.arange((1 << _LOG_SEGMENTS) + 1) / (1 << _LOG_SEGMENTS)
    return np.rint((np.log2(1 + steps) - steps) * (1 << 16)).astype(np.int64)
