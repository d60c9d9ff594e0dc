"""Spectra in channels: energies, sums over a bank of triangular filters, and what becomes of these."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_rank, check_shape
from tinygen.ops.requantize import Int64Array
from tinygen.ops.signal_arithmetic import GAIN_ENTRIES, Logarithm, NoiseReduction, Uint64Array, gained, square_roots

_MOST_SHIFT = 63


@dataclass(frozen=True, eq=False, kw_only=True)
class _Channels(Op):
    """What all of them answer alike."""

    result_range: ClassVar[Range] = Range.OWN

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class SpectrumEnergy(_Channels):
    """re^2 + im^2 of the complex numbers from `start` on, before `end`; 0 of the others."""

    input: Tensor  # [2 * bins], int16, real and imaginary parts in turn
    output: Tensor  # [bins], uint32
    start: int
    end: int

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT16)
        check_dtype("output", self.output, DType.UINT32)
        check_rank("output", self.output, 1)
        (bins,) = self.output.shape
        check_shape("input", self.input, (2 * bins,))
        if not bins or not 0 <= self.start <= self.end <= bins:
            raise ValueError(f"energies of {self.start} to {self.end}, a range within {bins} numbers was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        parts = values[self.input].astype(np.int64).reshape(-1, 2)[self.start : self.end]
        energy = np.zeros(self.output.shape, np.uint32)
        energy[self.start : self.end] = (parts * parts).sum(axis=1)
        return (energy,)


@dataclass(frozen=True)
class MelFilters:
    """Triangular filters that overlap by half: where one falls, the next one rises.

    Stretch c of the spectrum, of widths[c] energies from frequency_starts[c] on, is multiplied by its weights, from
    weight_starts[c] on, for filter c, and by the unweights for filter c + 1. The first filter is no channel.
    """

    weights: Int64Array
    unweights: Int64Array
    frequency_starts: Int64Array  # [channels + 1]
    weight_starts: Int64Array
    widths: Int64Array

    def verify(self, bins: int) -> None:
        """ValueError where a stretch is not within the spectrum or the weights."""
        stretches = len(self.widths)
        if not len(self.frequency_starts) == len(self.weight_starts) == stretches > 1:
            raise ValueError(
                f"{len(self.frequency_starts)} starts, {len(self.weight_starts)} starts of weights and {stretches} "
                "widths of filters, as many of each were expected, 2 or more"
            )
        if not 0 < len(self.weights) == len(self.unweights):
            raise ValueError(
                f"{len(self.weights)} weights and {len(self.unweights)} unweights, as many, 1 or more, were expected"
            )
        if min(self.weights.min(initial=0), self.unweights.min(initial=0)) < 0:
            raise ValueError("a weight of a filter is negative, 0 or more was expected")
        for starts, most in ((self.frequency_starts, bins), (self.weight_starts, len(self.weights))):
            if min(starts.min(), self.widths.min()) < 0 or (starts + self.widths).max() > most:
                raise ValueError(f"a filter reaches beyond {most} energies or weights")

    def apply(self, energies: Uint64Array) -> Uint64Array:
        """[.., bins] -> [.., channels]."""
        total = np.zeros((*energies.shape[:-1], len(self.widths) + 1), np.uint64)
        for at, (start, first, width) in enumerate(
            zip(self.frequency_starts, self.weight_starts, self.widths, strict=True)
        ):
            part, span = energies[..., start : start + width], slice(first, first + width)
            total[..., at] += (part * self.weights[span].astype(np.uint64)).sum(axis=-1, dtype=np.uint64)
            total[..., at + 1] += (part * self.unweights[span].astype(np.uint64)).sum(axis=-1, dtype=np.uint64)
        return total[..., 1:-1]


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBank(_Channels):
    """output[c] = the energies under filter c + 1, times its weights: see `MelFilters`."""

    input: Tensor  # [bins], uint32
    rising: Tensor  # [weights], int16, as all of the following; constants
    falling: Tensor
    frequency_starts: Tensor  # [channels + 1]
    weight_starts: Tensor
    widths: Tensor
    output: Tensor  # [channels], uint64

    @property
    def bank(self) -> MelFilters:
        """The filters; ValueError where they are no constants."""
        found = []
        for tensor in (self.rising, self.falling, self.frequency_starts, self.weight_starts, self.widths):
            if tensor.data is None:
                raise ValueError(f"'{tensor.name}' of the filters is computed at run time, a constant was expected")
            check_dtype("filters", tensor, DType.INT16)
            check_rank("filters", tensor, 1)
            found.append(tensor.data.astype(np.int64))
        return MelFilters(*found)

    def verify(self) -> None:
        check_dtype("input", self.input, DType.UINT32)
        check_dtype("output", self.output, DType.UINT64)
        check_rank("input", self.input, 1)
        self.bank.verify(self.input.shape[0])
        check_shape("output", self.output, (self.widths.shape[0] - 1,))

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (self.bank.apply(values[self.input].astype(np.uint64)),)


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBankRoot(_Channels):
    """output = the rounded square root of the input, without its last `bits`: what samples were scaled by."""

    input: Tensor  # [channels], uint64
    bits: Tensor  # one int32, 0 to 31
    output: Tensor  # [channels], uint32

    def verify(self) -> None:
        check_dtype("input", self.input, DType.UINT64)
        check_dtype("bits", self.bits, DType.INT32)
        check_dtype("output", self.output, DType.UINT32)
        check_shape("output", self.output, self.input.shape)
        if self.bits.type.elements != 1 or self.bits.is_constant:
            raise ValueError(f"bits '{self.bits.name}' have shape {list(self.bits.shape)}, one computed was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        bits = int(values[self.bits].reshape(-1)[0]) & 31
        return ((square_roots(values[self.input].astype(np.uint64)) >> bits).astype(np.uint32),)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpectralSubtraction(_Channels):
    """The signal without its noise, which is a running mean of it and a state: see `NoiseReduction`."""

    input: Tensor  # [channels], uint32
    noise: Tensor  # the same
    outputs: tuple[Tensor, ...]  # the next noise, and the signal without it: the same
    reduction: NoiseReduction

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return ((self.noise, self.outputs[0]),)

    def verify(self) -> None:
        check_rank("input", self.input, 1)
        tensors = (("noise", self.noise), ("next noise", self.outputs[0]), ("output", self.outputs[1]))
        for role, tensor in (("input", self.input), *tensors):
            check_dtype(role, tensor, DType.UINT32)
            check_shape(role, tensor, self.input.shape)
        self.reduction.verify()

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        noise, signal = self.reduction.apply(values[self.input].astype(np.int64), values[self.noise].astype(np.int64))
        return noise.astype(np.uint32), signal.astype(np.uint32)


@dataclass(frozen=True, eq=False, kw_only=True)
class GainControl(_Channels):
    """Per-channel amplitude normalization: the signal times a gain by its noise, shrunk: see `gained`."""

    input: Tensor  # [channels], uint32
    noise: Tensor  # the same
    gains: Tensor  # [125], int16, a constant
    output: Tensor  # as the input
    shift: int  # to the right, of products

    def verify(self) -> None:
        check_shape("gains", self.gains, (GAIN_ENTRIES,))
        check_dtype("gains", self.gains, DType.INT16)
        if not self.gains.is_constant:
            raise ValueError(f"gains '{self.gains.name}' are computed at run time, a constant was expected")
        for role, tensor in (("input", self.input), ("noise", self.noise), ("output", self.output)):
            check_dtype(role, tensor, DType.UINT32)
            check_shape(role, tensor, self.input.shape)
        if not 0 <= self.shift <= _MOST_SHIFT:
            raise ValueError(f"products are shifted by {self.shift} bits, 0 to {_MOST_SHIFT} were expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        signal, noise, gains = (values[t].astype(np.int64) for t in (self.input, self.noise, self.gains))
        return (gained(signal, noise, gains, self.shift).astype(np.uint32),)


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBankLog(_Channels):
    """output = scale * log(input * 2^correction), within its limit: see `Logarithm`."""

    input: Tensor  # [channels], uint32
    output: Tensor  # the same, int16
    logarithm: Logarithm  # of a limit within int16

    def verify(self) -> None:
        check_dtype("input", self.input, DType.UINT32)
        check_dtype("output", self.output, DType.INT16)
        check_shape("output", self.output, self.input.shape)
        self.logarithm.verify()
        if not 0 <= self.logarithm.limit <= DType.INT16.max:
            raise ValueError(f"a limit of {self.logarithm.limit}, one within int16 was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (self.logarithm.apply(values[self.input].astype(np.int64)).astype(np.int16),)
