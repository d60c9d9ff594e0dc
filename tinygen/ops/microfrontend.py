"""Features of sound as the C library "microfrontend" of TensorFlow Lite makes them, to the bit.

A window, a transform of samples that are scaled up as far as 16 bits allow, energies in triangular filters of equal
width in mel, square roots, noise reduction, gain control (PCAN), logarithm. Tables follow from settings by the
library's formulas in float32, with functions that round correctly.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.filter_bank import MelFilters
from tinygen.ops.fourier import POWERS_OF_TWO, RealTransform
from tinygen.ops.framing import MOST_CHANNELS, Framing
from tinygen.ops.requantize import Int64Array
from tinygen.ops.signal_arithmetic import (
    GAIN_ENTRIES,
    Logarithm,
    NoiseReduction,
    gained,
    scale_bits,
    square_roots,
    windowed,
)

WINDOW_BITS = 12  # fraction bits of windows and weights
_NOISE_BITS = 14
_SNR_BITS = 12
_LIMIT = (1 << 16) - 1  # of features

f32 = np.float32


@dataclass(frozen=True, kw_only=True)
class MicrofrontendSettings(Framing):
    """What the library is configured with, under its names; defaults are the library's."""

    lower_band_limit: float = 125.0  # Hz
    upper_band_limit: float = 7500.0
    smoothing_bits: int = 10
    even_smoothing: float = 0.025
    odd_smoothing: float = 0.06
    min_signal_remaining: float = 0.05
    enable_pcan: bool = False
    pcan_strength: float = 0.95
    pcan_offset: float = 80.0
    gain_bits: int = 21
    enable_log: bool = True
    scale_shift: int = 6

    @property
    def transform(self) -> RealTransform:
        """Of a frame, with zeros behind it."""
        return RealTransform(next((n for n in POWERS_OF_TWO if n >= self.window), POWERS_OF_TWO[-1]), DType.INT16)

    def verify(self) -> None:
        """ValueError, with the setting's name, where one is out of its range."""
        for name, low, high in (
            ("sample_rate", 1, 1 << 20),
            ("window", 1, POWERS_OF_TWO[-1]),
            ("step", 1, self.window),
            ("channels", 1, MOST_CHANNELS),
            ("lower_band_limit", 0, self.sample_rate / 2),
            ("upper_band_limit", self.lower_band_limit, self.sample_rate / 2),
            ("smoothing_bits", 0, 16),
            ("even_smoothing", 0, 1),
            ("odd_smoothing", 0, 1),
            ("min_signal_remaining", 0, 1),
            ("pcan_strength", 0, 8),
            ("pcan_offset", 2.0**-10, 2.0**20),
            ("gain_bits", 0, 31),
            ("scale_shift", 0, 16),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}, {low:g} to {high:g} was expected")
        if self.lower_band_limit == self.upper_band_limit:
            raise ValueError(f"upper_band_limit is {self.upper_band_limit}, more than lower_band_limit was expected")
        if self._filters[1] >= self.transform.bins:
            raise ValueError(f"upper_band_limit is {self.upper_band_limit}, which leaves no frequency above it")
        if not len(self.filters.weights):
            raise ValueError(
                f"upper_band_limit is {self.upper_band_limit}, more, for a frequency below it, was expected"
            )
        if self.enable_pcan and not (self.snr_shift >= 0 and self.smoothing_bits >= self.correction_bits):
            raise ValueError(
                f"gain_bits is {self.gain_bits} and smoothing_bits {self.smoothing_bits}, at least "
                f"{_SNR_BITS + self.correction_bits} and {max(self.correction_bits, 0)} were expected of gain control"
            )

    @property
    def correction_bits(self) -> int:
        """By which square roots are smaller than the amplitudes of the signal."""
        return self.transform.length.bit_length() - 1 - WINDOW_BITS // 2

    @property
    def snr_shift(self) -> int:
        """Of products of signals with gains."""
        return self.gain_bits - self.correction_bits - _SNR_BITS

    @cached_property
    def factors(self) -> Int64Array:
        """The window: of Hann, in the middle of samples."""
        turn = f32(math.pi) * f32(2.0) / f32(self.window)
        angles = (turn * (np.arange(self.window, dtype=f32) + f32(0.5))).astype(np.float64)
        heights = f32(0.5) - f32(0.5) * np.cos(angles).astype(f32)
        factors: Int64Array = np.floor(heights * f32(1 << WINDOW_BITS) + f32(0.5)).astype(np.int64)
        return factors

    @property
    def filters(self) -> MelFilters:
        """Of the spectrum's energies."""
        return self._filters[0]

    @cached_property
    def _filters(self) -> tuple[MelFilters, int]:
        """The filters, and the first frequency above them."""
        per_bin = f32(0.5) * f32(self.sample_rate) / f32(self.transform.pairs)
        low = _mel(f32(self.lower_band_limit))
        spacing = (_mel(f32(self.upper_band_limit)) - low) / f32(self.channels + 1)
        centers = [low + spacing * f32(channel + 1) for channel in range(self.channels + 1)]
        bin = int(f32(1.5) + f32(self.lower_band_limit) / per_bin)
        weights, unweights = list[int](), list[int]()
        starts, firsts, widths = list[int](), list[int](), list[int]()
        before = low
        for center in centers:
            starts.append(bin)
            firsts.append(len(weights))
            while bin <= self.transform.bins and (mel := _mel(f32(bin) * per_bin)) <= center:
                weight = (center - mel) / (center - before)
                weights.append(int(np.floor(weight * f32(1 << WINDOW_BITS) + f32(0.5))))
                unweights.append(int(np.floor((f32(1.0) - weight) * f32(1 << WINDOW_BITS) + f32(0.5))))
                bin += 1
            widths.append(bin - starts[-1])
            before = center
        arrays = (np.array(values, np.int64) for values in (weights, unweights, starts, firsts, widths))
        return MelFilters(*arrays), bin

    @property
    def noise_reduction(self) -> NoiseReduction:
        """Its numbers, cut off."""
        one = 1 << _NOISE_BITS
        even, odd, least = (
            int(f32(share) * f32(one)) for share in (self.even_smoothing, self.odd_smoothing, self.min_signal_remaining)
        )
        return NoiseReduction(even, one - even, odd, one - odd, least, self.smoothing_bits, _NOISE_BITS, False)

    @cached_property
    def gains(self) -> Int64Array:
        """2^gain_bits * (noise + offset)^-strength: two values, then curves through three points each."""
        gains = [self._gain(0), self._gain(1)]
        for bits in range(2, 33):
            start = 1 << (bits - 1)
            first, middle, last = (self._gain(x) for x in (start, start + start // 2, min(2 * start, (1 << 32) - 1)))
            slope = 4 * (middle - first) - (last - first)
            gains += [first, slope, last - first - slope, 0]
        return np.array(gains[:GAIN_ENTRIES]).astype(np.int16).astype(np.int64)

    def _gain(self, noise: int) -> int:
        level = f32(noise) / f32(1 << (self.smoothing_bits - self.correction_bits))
        power = f32(float(level + f32(self.pcan_offset)) ** -float(f32(self.pcan_strength)))
        gain = f32(1 << self.gain_bits) * power
        return DType.INT16.max if gain > DType.INT16.max else int(gain + f32(0.5))

    @property
    def logarithm(self) -> Logarithm:
        """Of the signal."""
        return Logarithm(1 << self.scale_shift, self.correction_bits, _LIMIT)

    def of_frames(self, frames: Int64Array, noise: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Features [frames, channels] of frames [frames, window], and the noise after them; `noise` is [channels]."""
        rows = windowed(frames, self.factors, WINDOW_BITS)
        bits = np.array([[scale_bits(row, counts_lowest=False)] for row in rows])
        scaled = np.zeros((len(frames), self.transform.length), np.int16)
        scaled[:, : self.window] = (rows << bits).astype(np.int16)
        parts = self.transform.spectrum(scaled).astype(np.int64).reshape(len(frames), -1, 2)
        energies = (parts * parts).sum(axis=2).astype(np.uint64)
        signal = square_roots(self.filters.apply(energies)) >> bits
        noises = np.empty_like(signal)
        for frame, levels in enumerate(signal):
            noise, signal[frame] = self.noise_reduction.apply(levels, noise)
            noises[frame] = noise
        if self.enable_pcan:
            signal = gained(signal, noises, self.gains, self.snr_shift)
        found = self.logarithm.apply(signal) if self.enable_log else np.minimum(signal, _LIMIT)
        return found, noise


def _mel(frequency: np.float32) -> np.float32:
    """1127 ln(1 + f / 700)."""
    return f32(1127.0) * f32(math.log1p(float(frequency / f32(700.0))))


@dataclass(frozen=True, eq=False, kw_only=True)
class Microfrontend(Op):
    """Features of frames of samples, one every step.

    The noise is a state; without one each call begins with none.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [window + (frames - 1) * step, or more], int16
    noise: Tensor | None  # [channels], uint32
    outputs: tuple[Tensor, ...]  # the next noise, where it is a state; [frames, channels], int32, 0 to 65535
    settings: MicrofrontendSettings

    @property
    def result(self) -> Tensor:
        """The features."""
        return self.outputs[-1]

    @property
    def frames(self) -> int:
        """Rows of features."""
        return self.result.shape[0]

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return () if self.noise is None else ((self.noise, self.outputs[0]),)

    @property
    def working_elements(self) -> int:
        return 8 * self.frames * self.settings.transform.length

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        settings = self.settings
        settings.verify()
        check_dtype("input", self.input, DType.INT16)
        check_dtype("features", self.result, DType.INT32)
        samples = self.input.type.elements
        frames = (samples - settings.window) // settings.step + 1 if samples >= settings.window else 0
        if not frames or self.input.is_constant:
            raise ValueError(f"{samples} samples, at least those of a frame, {settings.window}, were expected")
        check_shape("features", self.result, (frames, settings.channels))
        for tensor in (self.noise, self.outputs[0]) if self.noise is not None else ():
            check_dtype("noise", tensor, DType.UINT32)
            check_shape("noise", tensor, (settings.channels,))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        settings = self.settings
        samples = values[self.input].reshape(-1).astype(np.int64)
        frames = np.lib.stride_tricks.sliding_window_view(samples, settings.window)[:: settings.step]
        before = np.zeros(settings.channels, np.int64) if self.noise is None else values[self.noise].astype(np.int64)
        features, noise = settings.of_frames(frames, before)
        found = features.astype(np.int32)
        return (found,) if self.noise is None else (noise.astype(np.uint32), found)
