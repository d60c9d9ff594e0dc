"""Fourier transforms of real signals in fixed point and float32, as kissfft computes them for TFLite Micro.

A real transform of n numbers is a complex one of its n / 2 pairs, of radix 4 (and 2, 3 and 5, where the length asks for
them) and decimation in time, whose results are then taken apart. Fixed-point numbers are scaled down before each
addition so that little can overflow, 1 / n in all; what does overflow wraps.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_shape

POWERS_OF_TWO = tuple(1 << bits for bits in range(2, 16))
"""Lengths of real signals whose transforms are of radix 4 and 2 alone."""

_LENGTHS = range(POWERS_OF_TWO[0], POWERS_OF_TWO[-1] + 1, 2)
_RADICES = (4, 2, 3, 5)  # in this order, each as often as it divides what is left; the last stage first

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Complexes:
    """Complex numbers, real and imaginary parts apart: int64 that hold narrower integers, or float32."""

    re: Numbers
    im: Numbers

    def map(self, function: Callable[[Numbers], Numbers]) -> "Complexes":
        """A function of both parts."""
        return Complexes(function(self.re), function(self.im))

    @property
    def conjugate(self) -> "Complexes":
        """With the other sign of the imaginary part."""
        return Complexes(self.re, -self.im)

    @classmethod
    def joined(cls, parts: "list[Complexes]") -> "Complexes":
        """Several, one beside the other along the axis before the last."""
        return cls(np.stack([part.re for part in parts], -2), np.stack([part.im for part in parts], -2))


@dataclass(frozen=True)
class FourierArithmetic:
    """How numbers of an element type are added, multiplied and scaled."""

    dtype: DType  # int16, int32 or float32

    @property
    def fraction(self) -> int:
        """Fraction bits of a twiddle factor; 0 of float32."""
        return 0 if self.dtype.is_real else self.dtype.bits - 1

    def wrapped(self, values: Numbers) -> Numbers:
        """As the element type holds them."""
        if self.dtype.is_real:
            return values.astype(np.float32, copy=False)
        return values.astype(self.dtype.numpy).astype(np.int64)

    def add(self, first: Complexes, second: Complexes) -> Complexes:
        """first + second."""
        return Complexes(first.re + second.re, first.im + second.im).map(self.wrapped)

    def subtract(self, first: Complexes, second: Complexes) -> Complexes:
        """first - second."""
        return Complexes(first.re - second.re, first.im - second.im).map(self.wrapped)

    def multiply(self, first: Complexes, second: Complexes) -> Complexes:
        """first * second, where the second one is a twiddle factor."""
        re = first.re * second.re - first.im * second.im
        im = first.re * second.im + first.im * second.re
        return Complexes(self._rounded(re), self._rounded(im))

    def divided(self, values: Complexes, divisor: int) -> Complexes:
        """values / divisor: times the largest number divided by it, cut off. float32 are not scaled."""
        if self.dtype.is_real:
            return values
        return self.times(values, self.dtype.max // divisor)

    def times(self, values: Complexes, factor: Numbers | int) -> Complexes:
        """values * factor, which is a part of a twiddle factor."""
        return values.map(lambda part: self._rounded(part * factor))

    def quarter_turn(self, values: Complexes, factor: Numbers) -> Complexes:
        """values * factor * -i."""
        scaled = self.times(values, factor)
        return Complexes(scaled.im, self.wrapped(-scaled.re))

    def half(self, values: Numbers) -> Numbers:
        """values / 2, rounded down. Sums of int16 have not wrapped before, as C computes them in 32 bits."""
        return values * np.float32(0.5) if self.dtype.is_real else self.wrapped(values >> 1)

    def sum_to_halve(self, values: Numbers) -> Numbers:
        """A sum of two numbers before it is halved: in 32 bits."""
        return values if self.dtype.is_real else values.astype(np.int32).astype(np.int64)

    def circle(self, turns: npt.NDArray[np.float64]) -> Complexes:
        """Twiddle factors: exp(i * angle), to the nearest (ties up), of angles in radians."""
        if self.dtype.is_real:
            return Complexes(np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32))
        one = float(self.dtype.max)
        return Complexes(*(np.floor(0.5 + one * part).astype(np.int64) for part in (np.cos(turns), np.sin(turns))))

    def _rounded(self, products: Numbers) -> Numbers:
        if self.dtype.is_real:
            return products
        return self.wrapped((products + (1 << (self.fraction - 1))) >> self.fraction)


@dataclass(frozen=True)
class RealTransform:
    """A transform of `length` real numbers, or its inverse."""

    length: int
    dtype: DType
    is_inverse: bool = False

    @property
    def arithmetic(self) -> FourierArithmetic:
        """Of its numbers."""
        return FourierArithmetic(self.dtype)

    @property
    def pairs(self) -> int:
        """Complex numbers that are transformed."""
        return self.length // 2

    @property
    def bins(self) -> int:
        """Complex numbers of a spectrum."""
        return self.pairs + 1

    @property
    def log2_pairs(self) -> int:
        """How often 2 is a factor of the pairs."""
        return (self.pairs & -self.pairs).bit_length() - 1

    @property
    def is_mixed(self) -> bool:
        """Whether they have odd factors too."""
        return self.pairs != 1 << self.log2_pairs

    @property
    def radices(self) -> tuple[int, ...]:
        """Of the stages, the first one first; none where the pairs have other factors."""
        found: list[int] = []
        left = self.pairs
        for radix in _RADICES:
            while left % radix == 0:
                found.insert(0, radix)
                left //= radix
        return tuple(found) if left == 1 else ()

    @property
    def _stages(self) -> Iterator[tuple[int, int, int]]:
        """The radix of each, how many numbers have been joined before, and the distance of its twiddle factors."""
        done = 1
        for radix in self.radices:
            yield radix, done, self.pairs // (radix * done)
            done *= radix

    @property
    def twiddles(self) -> Complexes:
        """Factors of the complex transform, as many as its stages read."""
        last = [(radix - 1) * (done - 1) * stride for radix, done, stride in self._stages]
        roots = [self.pairs // radix * (radix // 2) for radix in self.radices if radix % 2]
        sign = 1.0 if self.is_inverse else -1.0
        return self.arithmetic.circle(sign * 2.0 * np.pi * np.arange(1 + max(last + roots)) / self.pairs)

    @property
    def real_twiddles(self) -> Complexes:
        """Factors by which complex results become those of the real signal, and the reverse."""
        sign = 1.0 if self.is_inverse else -1.0
        steps = np.arange(1, self.pairs // 2 + 1)
        return self.arithmetic.circle(sign * np.pi * (steps / self.pairs + 0.5))

    @property
    def sources(self) -> npt.NDArray[np.int64]:
        """Which pair the first stage has at each place: digits reversed, the last radix counting least."""
        found = np.zeros(1, np.int64)
        for radix in self.radices:
            found = np.concatenate([found * radix + digit for digit in range(radix)])
        return found

    def spectrum(self, signal: Array) -> Array:
        """[..., length] -> [..., 2 * bins], real and imaginary parts in turn."""
        numbers, exact = signal.astype(np.float32 if self.dtype.is_real else np.int64), self.arithmetic
        done = self._complex(Complexes(numbers[..., 0::2], numbers[..., 1::2]))
        ends = exact.divided(Complexes(done.re[..., :1], done.im[..., :1]), 2)
        first, last = exact.wrapped(ends.re + ends.im), exact.wrapped(ends.re - ends.im)
        near = exact.divided(self._upper(done), 2)
        far = exact.divided(self._lower(done).conjugate.map(exact.wrapped), 2)
        even = exact.add(near, far)
        odd = exact.multiply(exact.subtract(near, far), self.real_twiddles)
        re = np.concatenate([first, np.zeros_like(done.re[..., 1:]), last], -1)
        im = np.zeros_like(re)
        half, total = self.pairs // 2, exact.sum_to_halve
        behind = self.pairs - half
        re[..., 1 : half + 1] = exact.half(total(even.re + odd.re))
        im[..., 1 : half + 1] = exact.half(total(even.im + odd.im))
        re[..., behind : self.pairs] = exact.half(total(even.re - odd.re))[..., ::-1]
        im[..., behind : self.pairs] = exact.half(total(odd.im - even.im))[..., ::-1]
        return self._stored(Complexes(re, im))

    def signal(self, spectrum: Array) -> Array:
        """[..., 2 * bins] -> [..., length]; float32 divided by the length."""
        numbers, exact = spectrum.astype(np.float32 if self.dtype.is_real else np.int64), self.arithmetic
        bins = Complexes(numbers[..., 0::2], numbers[..., 1::2])
        first, last = bins.re[..., :1], bins.re[..., -1:]
        ends = exact.divided(Complexes(first + last, first - last).map(exact.wrapped), 2)
        near = exact.divided(self._upper(bins), 2)
        far = exact.divided(Complexes(self._lower(bins).re, -self._lower(bins).im).map(exact.wrapped), 2)
        even = exact.add(near, far)
        odd = exact.multiply(exact.subtract(near, far), self.real_twiddles)
        above, below = exact.add(even, odd), exact.subtract(even, odd).conjugate.map(exact.wrapped)
        half = self.pairs // 2
        re = np.concatenate([ends.re, np.zeros_like(bins.re[..., 2:])], -1)
        im = np.concatenate([ends.im, np.zeros_like(bins.im[..., 2:])], -1)
        for mine, upper, lower in ((re, above.re, below.re), (im, above.im, below.im)):
            mine[..., 1 : half + 1] = upper
            mine[..., self.pairs - half :] = lower[..., ::-1]
        done = self._stored(self._complex(Complexes(re, im)))
        return (done.astype(np.float32) / np.float32(self.length)) if self.dtype.is_real else done

    def _upper(self, numbers: Complexes) -> Complexes:
        """Numbers 1 to half of the pairs."""
        return numbers.map(lambda part: part[..., 1 : self.pairs // 2 + 1])

    def _lower(self, numbers: Complexes) -> Complexes:
        """Of each of these, the one as far from the end."""
        return numbers.map(lambda part: part[..., (self.pairs + 1) // 2 : self.pairs][..., ::-1])

    def _complex(self, numbers: Complexes) -> Complexes:
        """The complex transform."""
        found, twiddles = _chosen(numbers, (..., self.sources)), self.twiddles
        for radix, done, stride in self._stages:
            groups = _reshaped(found, (stride, radix, done))
            terms = [self.arithmetic.divided(_chosen(groups, (..., at, slice(None))), radix) for at in range(radix)]
            for at in range(1, radix):
                factors = _chosen(twiddles, (at * stride * np.arange(done),))
                terms[at] = self.arithmetic.multiply(terms[at], factors)
            roots = [_chosen(twiddles, self.pairs // radix * turns) for turns in range(1, (radix + 1) // 2)]
            joined = Complexes.joined(self._joined(terms, roots))
            found = _reshaped(joined, (self.pairs,), axes=3)
        return found

    def _joined(self, terms: list[Complexes], roots: list[Complexes]) -> list[Complexes]:
        """The sums of a stage; `roots`: those of one, where its radix is odd."""
        match len(terms):
            case 2:
                return self._two(*terms)
            case 3:
                return self._three(*terms, *roots)
            case 4:
                return self._four(*terms)
            case _:
                return self._five(terms, *roots)

    def _two(self, first: Complexes, second: Complexes) -> list[Complexes]:
        return [self.arithmetic.add(first, second), self.arithmetic.subtract(first, second)]

    def _three(self, first: Complexes, second: Complexes, third: Complexes, root: Complexes) -> list[Complexes]:
        exact = self.arithmetic
        total = exact.add(second, third)
        middle = exact.subtract(first, total.map(exact.half))
        turned = exact.quarter_turn(exact.subtract(second, third), root.im)
        return [exact.add(first, total), exact.subtract(middle, turned), exact.add(middle, turned)]

    def _four(self, first: Complexes, second: Complexes, third: Complexes, fourth: Complexes) -> list[Complexes]:
        exact = self.arithmetic
        difference, total = exact.subtract(first, third), exact.add(first, third)
        outer, across = exact.add(second, fourth), exact.subtract(second, fourth)
        turned = Complexes(across.im, -across.re)  # times -i, as complex numbers of 64 bits or float32
        left, right = exact.add(difference, turned), exact.subtract(difference, turned)
        quarters = (right, left) if self.is_inverse else (left, right)
        return [exact.add(total, outer), quarters[0], exact.subtract(total, outer), quarters[1]]

    def _five(self, terms: list[Complexes], root: Complexes, square: Complexes) -> list[Complexes]:
        """`square` is that of the first root of one."""
        exact, first = self.arithmetic, terms[0]
        outer, inner = exact.add(terms[1], terms[4]), exact.add(terms[2], terms[3])
        around, across = exact.subtract(terms[1], terms[4]), exact.subtract(terms[2], terms[3])
        near = exact.add(exact.add(first, exact.times(outer, root.re)), exact.times(inner, square.re))
        far = exact.add(exact.add(first, exact.times(outer, square.re)), exact.times(inner, root.re))
        near_turned = exact.add(exact.quarter_turn(around, root.im), exact.quarter_turn(across, square.im))
        far_turned = exact.subtract(exact.quarter_turn(across, root.im), exact.quarter_turn(around, square.im))
        return [
            exact.add(first, exact.add(outer, inner)),
            exact.subtract(near, near_turned),
            exact.add(far, far_turned),
            exact.subtract(far, far_turned),
            exact.add(near, near_turned),
        ]

    def _stored(self, numbers: Complexes) -> Array:
        pairs = np.stack([numbers.re, numbers.im], -1)
        return pairs.reshape(*pairs.shape[:-2], -1).astype(self.dtype.numpy)


def _chosen(numbers: Complexes, index: Any) -> Complexes:
    return Complexes(numbers.re[index], numbers.im[index])


def _reshaped(numbers: Complexes, shape: tuple[int, ...], axes: int = 1) -> Complexes:
    """With other last `axes`."""
    return numbers.map(lambda part: part.reshape(*part.shape[:-axes], *shape))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Fourier(Op):
    """What a transform and its inverse share."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # int16, int32 or float32
    output: Tensor  # of the same type
    length: int  # of the signal

    @property
    def transform(self) -> RealTransform:
        """Of a row of the input."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """Signals that are transformed one by one."""
        return self.output.type.elements // self.output.shape[-1]

    def precision_points(self) -> tuple[Point, ...]:
        if self.input.type.dtype.is_real:
            return ()
        return (Point("scale_butterflies", f"1 / radix before each of {len(self.transform.radices)} stages, rounded"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT16, DType.INT32, DType.FLOAT32)
        check_dtype("output", self.output, self.input.type.dtype)
        if self.length not in _LENGTHS or not self.transform.radices:
            raise ValueError(
                f"a transform of {self.length} numbers, an even number from {_LENGTHS[0]} to {_LENGTHS[-1]} without "
                "prime factors above 5 was expected"
            )
        if not self.input.shape or not self.input.type.elements:
            raise ValueError(f"input '{self.input.name}' has shape {list(self.input.shape)}, a signal was expected")


@dataclass(frozen=True, eq=False, kw_only=True)
class RealFourier(_Fourier):
    """The first half of the spectrum of each row, complex numbers as pairs, of signals with zeros behind them."""

    @property
    def transform(self) -> RealTransform:
        return RealTransform(self.length, self.input.type.dtype)

    def verify(self) -> None:
        super().verify()
        if self.input.shape[-1] > self.length:
            raise ValueError(f"rows of {self.input.shape[-1]} numbers, at most the transform's {self.length}")
        check_shape("output", self.output, (*self.input.shape[:-1], 2 * self.transform.bins))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        signal = values[self.input]
        missing = self.length - signal.shape[-1]
        padded = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
        return (self.transform.spectrum(padded),)


@dataclass(frozen=True, eq=False, kw_only=True)
class InverseRealFourier(_Fourier):
    """The signal of which each row is the first half of the spectrum."""

    @property
    def transform(self) -> RealTransform:
        return RealTransform(self.length, self.input.type.dtype, is_inverse=True)

    def verify(self) -> None:
        super().verify()
        check_shape("input", self.input, (*self.output.shape[:-1], 2 * self.transform.bins))
        check_shape("output", self.output, (*self.output.shape[:-1], self.length))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (self.transform.signal(values[self.input]),)
