"""Logarithms of the mel energies of a signal: an audio front end as one operator."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank
from tinygen.ops.spectrum import Int64Array, UInt64Array, powers

FULL_SCALE = 1 << 15  # of samples: 1 as a real number
LOG_PARTS = 32  # of an octave, between which logarithms are interpolated
REAL_UNIT = 2.0**-16  # of results that are real numbers

_LONGEST, _SHORTEST = 1 << 13, 16  # transforms
_MOST_FRACTION_BITS = 28
_MOST_OCTAVE = 1 << 30
_MOST_BIAS = 1 << 24  # outputs


@dataclass(frozen=True, eq=False, kw_only=True)
class LogMel(Op):
    """output[f, m] = per_octave * log2(the energy of band m in frame f) + at_one, from `lowest` to `highest`.

    A frame is `window` samples long, the next one begins `hop` behind; with an `emphasis` a frame reads the sample
    before it too, and y[i] = x[i] - emphasis * x[i - 1] is taken for x. Samples are real numbers from -1 to 1. Energies
    are sums of squared magnitudes of bins of the discrete Fourier transform of y * window, padded with zeros to
    `transform` samples. A bin between `edges` m and m + 1 belongs to band m by its weight in `rises`, and to band
    m - 1 by what is left to 1: triangles, of which each begins where the one before has its peak.

    Energies are exact but for the transform (`spectrum.powers`), and logarithms are interpolated in `LOG_PARTS` parts
    of an octave, to 2e-4.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [samples], int16
    window: Tensor  # [length], int16, Q15; even, at most `transform`
    edges: Tensor  # [bands + 2], int16: bins from 1 up to transform / 2
    rises: Tensor  # [last edge - first edge], int16, Q15
    output: Tensor  # frames * bands elements in any shape; int8, int16 per tensor, or float32
    transform: int  # samples; a power of two
    hop: int  # samples
    emphasis: int  # Q15, from 0 to 32767
    per_octave: float
    at_one: float
    lowest: float
    highest: float

    @property
    def bands(self) -> int:
        """Features of a frame."""
        return self.edges.shape[0] - 2

    @property
    def frames(self) -> int:
        """Of all samples."""
        return self.output.type.elements // self.bands

    @property
    def extent(self) -> int:
        """Samples that a frame reads."""
        return self.window.shape[0] + (self.emphasis != 0)

    @property
    def macs(self) -> int:
        """Multiplications of a transform of radix 2 in complex numbers, of windows and weights."""
        points = self.transform // 2
        per_frame = 2 * points * int(math.log2(points)) + 2 * self.window.shape[0] + 2 * self.rises.shape[0]
        return self.frames * per_frame

    @property
    def working_elements(self) -> int:
        return 16 * self.frames * self.transform

    @cached_property
    def fraction_bits(self) -> int:
        """Bits behind the point of the transform's numbers: as many as leave room for any samples."""
        weights = np.abs(self._constant(self.window))
        peak = max(int(weights.sum()), 2 * int(weights[0::2].sum()), 2 * int(weights[1::2].sum()))
        sums = peak * (FULL_SCALE + self.emphasis) / FULL_SCALE**2  # of magnitudes
        squares = self.transform * float((weights**2).sum()) * ((FULL_SCALE + self.emphasis) / FULL_SCALE**2) ** 2
        rounding = 8 * self.transform
        by_sums = math.floor(math.log2((2**31 - rounding) / sums))
        by_powers = math.floor((63 - math.log2(squares)) / 2 - 0.01)
        return min(by_sums, by_powers, _MOST_FRACTION_BITS)

    @property
    def unit(self) -> float:
        """The real number for which a step of the stored result stands."""
        return REAL_UNIT if self.output.type.dtype.is_real else self.output.type.scale

    @property
    def octave(self) -> int:
        """By how much the stored result grows where the energy doubles; Q16."""
        return round(self.per_octave / self.unit * 65536)

    @cached_property
    def bias(self) -> int:
        """The stored result for an energy of one unit of the transform; Q32, and half of a result for rounding."""
        in_octaves = self.at_one - 2 * self.fraction_bits * self.per_octave
        return round(in_octaves / self.unit * 2**32) + (self._zero_point << 32) + (1 << 31)

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest stored result."""
        found = (self._stored(self.lowest), self._stored(self.highest))
        if self.output.type.dtype.is_real:
            return found
        low, high = (min(max(value, self.output.type.min), self.output.type.max) for value in found)
        return low, high

    def channel_links(self) -> None:
        return None

    def precision_points(self) -> tuple[Point, ...]:
        return (
            Point("window", f"int16 Q15, products with {self.fraction_bits} bits behind the point"),
            Point("transform", "int32, rotations of int16 Q15, products rounded down"),
            Point("energies", "uint64, weights of int16 Q15"),
            Point("logarithm", f"Q16, interpolated in {LOG_PARTS} parts of an octave"),
            Point("requantize", "Q16 multiplier and Q32 bias, rounded once"),
        )

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT16)
        check_rank("input", self.input, 1)
        check_dtype("output", self.output, DType.INT8, DType.INT16, DType.FLOAT32)
        if not self.output.type.dtype.is_real:
            check_per_tensor("output", self.output)
        for role, tensor in (("window", self.window), ("edges", self.edges), ("rises", self.rises)):
            check_dtype(role, tensor, DType.INT16)
            check_rank(role, tensor, 1)
            if not tensor.is_constant:
                raise ValueError(f"{role} '{tensor.name}' is computed at run time, a constant was expected")
        self._verify_bands()
        self._verify_frames()
        self._verify_scaling()

    def _verify_bands(self) -> None:
        edges, rises = self._constant(self.edges), self._constant(self.rises)
        is_rising = len(edges) > 2 and bool((np.diff(edges) >= 0).all()) and 1 <= edges[0] < edges[-1]
        if not is_rising or edges[-1] > self.transform // 2 or len(rises) != edges[-1] - edges[0]:
            raise ValueError(
                f"edges of bands are {edges.tolist()} with {len(rises)} weights, rising bins from 1 to "
                f"{self.transform // 2}, and a weight for each, were expected"
            )
        if len(rises) and rises.min() < 0:
            raise ValueError(f"weights of bands are {rises.min()} and more, at least 0 was expected")

    def _verify_frames(self) -> None:
        length, size = self.window.shape[0], self.transform
        if not _SHORTEST <= size <= _LONGEST or size & (size - 1):
            raise ValueError(f"transform of {size} samples, a power of two from {_SHORTEST} to {_LONGEST} was expected")
        if length % 2 or not 0 < length <= size or not self._constant(self.window).any():
            raise ValueError(f"window of {length} samples, an even number up to {size}, not all 0, was expected")
        if not 0 <= self.emphasis < FULL_SCALE or self.hop < 1:
            raise ValueError(f"emphasis {self.emphasis} and hop {self.hop}, 0 to 32767 and 1 or more were expected")
        samples = (self.frames - 1) * self.hop + self.extent
        if self.frames < 1 or self.output.type.elements % self.bands or self.input.shape[0] < samples:
            raise ValueError(
                f"input of {self.input.shape[0]} samples for {list(self.output.shape)} energies of {self.bands} bands, "
                f"at least {samples} were expected"
            )

    def _verify_scaling(self) -> None:
        if not 0 < self.octave <= _MOST_OCTAVE or abs(self.bias) >> 32 > _MOST_BIAS or self.fraction_bits < 14:
            raise ValueError(
                f"{self.per_octave:g} per octave and {self.at_one:g} at an energy of 1 do not fit a scale of "
                f"{self.unit:g}, or the window adds up to too much"
            )
        if not self.lowest <= self.highest or abs(self._stored(self.highest)) > 2**30:
            raise ValueError(f"results from {self.lowest:g} to {self.highest:g}, a range was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        energies = self.energies(values[self.input])
        logs = _logarithms(energies)
        found = np.where(energies == 0, self.limits[0], (logs * self.octave + self.bias) >> 32)
        limited = np.clip(found, *self.limits).reshape(self.output.shape)
        if self.output.type.dtype.is_real:
            return (limited.astype(np.float32) * np.float32(REAL_UNIT),)
        return (limited.astype(self.output.type.dtype.numpy),)

    def energies(self, samples: Array) -> UInt64Array:
        """Of bands [frames, bands], in units of 2^(-2 * fraction_bits)."""
        spectra = powers(self._windowed(samples.astype(np.int64)))
        edges, rises = self._constant(self.edges), self._constant(self.rises).astype(np.uint64)
        found = np.zeros((self.frames, self.bands + 1, 2), np.uint64)
        for segment, (first, end) in enumerate(pairwise(edges)):
            bins, weights = spectra[:, first:end], rises[first - edges[0] : end - edges[0]]
            high = ((bins >> np.uint64(32)) * weights).sum(axis=1)
            low = ((bins & np.uint64(0xFFFFFFFF)) * weights).sum(axis=1)
            found[:, segment, 0] = (high << np.uint64(17)) + (low >> np.uint64(15))
            found[:, segment, 1] = bins.sum(axis=1)
        weighted, whole = found[:, :, 0], found[:, :, 1]
        return weighted[:, :-1] + (whole[:, 1:] - weighted[:, 1:])

    def _windowed(self, samples: Int64Array) -> Int64Array:
        """Frames [frames, transform] with `fraction_bits` bits behind the point."""
        numbers = samples * (1 << (self.fraction_bits - 14))
        if self.emphasis:
            numbers = numbers[1:] - (samples[:-1] * self.emphasis >> self.emphasis_shift)
        length = self.window.shape[0]
        frames = np.lib.stride_tricks.sliding_window_view(numbers, length)[:: self.hop][: self.frames]
        padding = ((0, 0), (0, self.transform - length))
        return np.pad(frames * self._constant(self.window) >> 16, padding)

    @property
    def emphasis_shift(self) -> int:
        """From products of samples with the emphasis to twice the units of the transform."""
        return 29 - self.fraction_bits

    def _constant(self, tensor: Tensor) -> Int64Array:
        assert tensor.data is not None
        return tensor.data.astype(np.int64)

    @property
    def _zero_point(self) -> int:
        return 0 if self.output.type.dtype.is_real else self.output.type.zero_point

    def _stored(self, real: float) -> int:
        return round(real / self.unit) + self._zero_point


def log_bends() -> npt.NDArray[np.int16]:
    """How far log2(1 + x) lies above x at all LOG_PARTS parts of an octave, Q16."""
    parts = np.arange(LOG_PARTS + 1) / LOG_PARTS
    return np.floor((np.log2(1 + parts) - parts) * 65536 + 0.5).astype(np.int16)


def _logarithms(values: UInt64Array) -> Int64Array:
    """log2, Q16; of 0 as of 1."""
    lengths = [max(int(value), 1).bit_length() for value in values.flat]
    exponents = np.array(lengths, np.uint64).reshape(values.shape) - np.uint64(1)
    shifted = values << (np.uint64(63) - exponents) << np.uint64(1)
    fractions = (shifted >> np.uint64(32)).astype(np.int64)
    part, behind = fractions >> 27, fractions >> 11 & 0xFFFF
    bends = log_bends().astype(np.int64)
    bend = bends[part] + (((bends[part + 1] - bends[part]) * behind + 0x8000) >> 16)
    found: Int64Array = (exponents.astype(np.int64) << 16) + (fractions >> 16) + bend
    return found
