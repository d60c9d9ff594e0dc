"""The discrete Fourier transform of real numbers in fixed point: the arithmetic of tg_spectrum.h.

Samples 2 i and 2 i + 1 of a frame are the real and imaginary part of point i. Points are transformed by the radix-4
decimation in time of Cooley and Tukey, after a step of radix 2 where their number is an odd power of two. Nothing is
scaled on the way, so that the sum of all magnitudes has to fit. Products with rotations, which are Q15, are rounded
down.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]

_ONE = 1 << 15


@dataclass(frozen=True, eq=False)
class Rotations:
    """Angles as cosines and sines, Q15; 1 is a unit less, so that it fits 16 bits."""

    cosines: Int64Array
    sines: Int64Array

    @classmethod
    def of(cls, parts: npt.ArrayLike, circle: int) -> "Rotations":
        """So many parts of a circle of `circle` of them."""
        angles = 2 * np.pi * np.asarray(parts, np.float64) / circle
        return cls(to_q15(np.cos(angles)), to_q15(np.sin(angles)))

    @property
    def words(self) -> npt.NDArray[np.int32]:
        """As kernels read them: the cosine in the lower half of a word."""
        packed = (self.cosines & 0xFFFF) | ((self.sines & 0xFFFF) << 16)
        return packed.astype(np.uint32).view(np.int32)

    def turn(self, points: "Points") -> "Points":
        """Half of points, turned back."""
        re = (points.re * self.cosines >> 16) + (points.im * self.sines >> 16)
        return Points(re, (points.im * self.cosines >> 16) - (points.re * self.sines >> 16))


@dataclass(frozen=True, eq=False)
class Points:
    """Complex numbers."""

    re: Int64Array
    im: Int64Array

    def __add__(self, other: "Points") -> "Points":
        return Points(self.re + other.re, self.im + other.im)

    def __sub__(self, other: "Points") -> "Points":
        return Points(self.re - other.re, self.im - other.im)

    @property
    def turned_right(self) -> "Points":
        """Times -i."""
        return Points(self.im, -self.re)

    def at(self, index: npt.ArrayLike) -> "Points":
        """Those of some indices, of each frame."""
        chosen = np.asarray(index)
        return Points(self.re[:, chosen], self.im[:, chosen])


def to_q15(values: npt.NDArray[np.float64]) -> Int64Array:
    """Real numbers to the nearest of Q15, halves up; what is too large is the largest."""
    return np.clip(np.floor(values * _ONE + 0.5), -_ONE, _ONE - 1).astype(np.int64)


def turns(points: int) -> Rotations:
    """Of the steps of radix 4, [points / 4, 3]: by i, 2 i and 3 i parts."""
    return Rotations.of(np.arange(points // 4)[:, np.newaxis] * np.array([1, 2, 3]), points)


def halves(points: int) -> Rotations:
    """Between the spectra of even and odd samples, [points / 2]."""
    return Rotations.of(np.arange(points // 2), 2 * points)


def powers(samples: Int64Array) -> UInt64Array:
    """Squared magnitudes of the bins 1 to N/2 - 1 of frames [frames, N] of samples, N a power of two from 16 on.

    Bin 0 stands for itself as 0. The samples of a frame may add up, by their magnitudes, to less than 2^31, those of
    even index and those of odd index to less than 2^30.
    """
    found = _transform(Points(samples[:, 0::2], samples[:, 1::2]))
    count = samples.shape[1] // 2
    low = np.arange(1, count // 2)
    a, b = found.at(low), found.at(count - low)
    even_re, even_im = (a.re + b.re) >> 1, (a.im - b.im) >> 1
    turned = Rotations.of(low, 2 * count).turn(Points(a.im + b.im, b.re - a.re))
    result = np.zeros((len(samples), count), np.int64)
    result[:, low] = (even_re + turned.re) ** 2 + (even_im + turned.im) ** 2
    result[:, count - low] = (even_re - turned.re) ** 2 + (turned.im - even_im) ** 2
    result[:, count // 2] = found.re[:, count // 2] ** 2 + found.im[:, count // 2] ** 2
    return result.astype(np.uint64)


def _transform(points: Points) -> Points:
    count = points.re.shape[1]
    levels = int(math.log2(count))
    at = points.at([int(f"{i:0{levels}b}"[::-1], 2) for i in range(count)])
    apart = 1
    if levels % 2:
        even, odd = at.at(np.arange(0, count, 2)), at.at(np.arange(1, count, 2))
        at = _side_by_side([even + odd, even - odd], 1)
        apart = 2
    while apart < count:
        at = _radix_4(at, apart)
        apart *= 4
    return at


def _radix_4(at: Points, apart: int) -> Points:
    """Transforms of 4 * `apart` points from those of `apart` points each."""
    re, im = (part.reshape(len(part), -1, 4, apart) for part in (at.re, at.im))
    index = np.arange(apart)
    a, b, c, d = (Points(re[:, :, quarter], im[:, :, quarter]) for quarter in range(4))
    b, c, d = (_turned(part, times * index, 4 * apart) for part, times in ((b, 2), (c, 1), (d, 3)))
    low, low_difference, high, right = a + b, a - b, c + d, (c - d).turned_right
    return _side_by_side([low + high, low_difference + right, low - high, low_difference - right], apart)


def _turned(points: Points, parts: Int64Array, circle: int) -> Points:
    """Turned back by parts of a circle; where these are none, as they are."""
    half = Rotations.of(parts, circle).turn(points)
    return Points(*(np.where(parts == 0, old, 2 * new) for old, new in ((points.re, half.re), (points.im, half.im))))


def _side_by_side(quarters: list[Points], apart: int) -> Points:
    """Blocks of `apart` points of each in turn."""
    count = len(quarters) * quarters[0].re.reshape(len(quarters[0].re), -1).shape[1]
    whole = (
        np.stack([part.reshape(len(part), -1, apart) for part in parts], axis=2).reshape(-1, count)
        for parts in ([quarter.re for quarter in quarters], [quarter.im for quarter in quarters])
    )
    return Points(*whole)
