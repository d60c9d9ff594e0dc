"""Operators of audio front ends."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.work import Work, work
from tinygen.ops.filter_bank import (
    FilterBank,
    FilterBankLog,
    FilterBankRoot,
    GainControl,
    MelFilters,
    SpectralSubtraction,
    SpectrumEnergy,
)
from tinygen.ops.fourier import Complexes, InverseRealFourier, RealFourier, RealTransform
from tinygen.ops.microfrontend import Microfrontend
from tinygen.ops.overlap_add import OverlapAdd
from tinygen.ops.requantize import Int64Array
from tinygen.ops.signal_arithmetic import Logarithm, NoiseReduction, log_table
from tinygen.ops.signal_window import AutoScale, SignalWindow

_HEADER = "tg_signal.h"
_SUFFIXES = {DType.INT16: "s16", DType.INT32: "s32", DType.FLOAT32: "f32"}


@dataclass(frozen=True, eq=False, kw_only=True)
class SignalKernel(Kernel):
    """What all of them have in common."""

    header: ClassVar[str] = _HEADER


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowS16(SignalKernel):
    """tg_signal_window."""

    template: ClassVar[str] = "signal_window"

    rows: int
    size: int
    shift: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AutoScaleS16(SignalKernel):
    """tg_auto_scale_s16."""

    template: ClassVar[str] = "auto_scale"

    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class RealFft(SignalKernel):
    """tg_rfft_s16, tg_irfft_s16, those of other numbers and of mixed radix."""

    template: ClassVar[str] = "real_fft"

    rows: int
    size: int
    transform: RealTransform

    @property
    def log2_pairs(self) -> int:
        """Of the complex transform, without its odd factors."""
        return self.transform.log2_pairs

    @property
    def is_mixed(self) -> bool:
        """Whether it has odd factors."""
        return self.transform.is_mixed

    @property
    def threes(self) -> int:
        """How often 3 is a factor."""
        return self.transform.radices.count(3)

    @property
    def fives(self) -> int:
        """How often 5 is one."""
        return self.transform.radices.count(5)


@dataclass(frozen=True, eq=False, kw_only=True)
class EnergyS16(SignalKernel):
    """tg_spectrum_energy."""

    template: ClassVar[str] = "spectrum_energy"

    bins: int
    start: int
    end: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBankSums(SignalKernel):
    """tg_filter_bank."""

    template: ClassVar[str] = "filter_bank"

    channels: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBankRoots(SignalKernel):
    """tg_filter_bank_root."""

    template: ClassVar[str] = "filter_bank_root"

    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Subtraction(SignalKernel):
    """tg_spectral_subtraction."""

    template: ClassVar[str] = "spectral_subtraction"

    channels: int
    reduction: NoiseReduction


@dataclass(frozen=True, eq=False, kw_only=True)
class Gains(SignalKernel):
    """tg_gain_control."""

    template: ClassVar[str] = "gain_control"

    channels: int
    shift: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterBankLogs(SignalKernel):
    """tg_filter_bank_log."""

    template: ClassVar[str] = "filter_bank_log"

    channels: int
    logarithm: Logarithm


@dataclass(frozen=True, eq=False, kw_only=True)
class OverlapAdds(SignalKernel):
    """tg_overlap_add_s16 and _f32."""

    template: ClassVar[str] = "overlap_add"

    rows: int
    frames: int
    size: int
    step: int


@dataclass(frozen=True, eq=False, kw_only=True)
class MicrofrontendS16(Kernel):
    """tg_microfrontend."""

    template: ClassVar[str] = "microfrontend"
    header: ClassVar[str] = "tg_microfrontend.h"
    takes_scratch: ClassVar[bool] = True

    frames: int
    size: int
    step: int
    log2_pairs: int
    channels: int
    reduction: NoiseReduction
    gain_shift: int
    logarithm: Logarithm
    keeps_noise: bool

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - always all
        """frame: frames; sample: their samples; butterfly: four pairs of a stage; channel: features."""
        butterflies = (1 << self.log2_pairs) // 4 * (-(-self.log2_pairs // 2))
        return work(
            self.function,
            call=1,
            frame=self.frames,
            sample=self.frames * self.size,
            butterfly=self.frames * butterflies,
            channel=self.frames * self.channels,
        )


def lower_window(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A window."""
    assert isinstance(op, SignalWindow)
    (size,) = op.factors.shape
    return WindowS16(
        function="tg_signal_window",
        reads=(op.input,),
        writes=(op.output,),
        in_place=(op.input,),
        tables=(Table("factors", _stored(op.factors)),),
        rows=op.input.type.elements // size,
        size=size,
        shift=op.shift,
    )


def lower_auto_scale(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Samples scaled up."""
    assert isinstance(op, AutoScale)
    return AutoScaleS16(function="tg_auto_scale_s16", reads=(op.input,), writes=op.outputs, size=op.input.type.elements)


def lower_fourier(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A transform, or its inverse."""
    assert isinstance(op, RealFourier | InverseRealFourier)
    name = ("irfft" if op.transform.is_inverse else "rfft") + ("_mixed" if op.transform.is_mixed else "")
    return RealFft(
        function=f"tg_{name}_{_SUFFIXES[op.input.type.dtype]}",
        reads=(op.input,),
        writes=(op.output,),
        tables=twiddle_tables(op.transform),
        rows=op.rows,
        size=op.input.shape[-1],
        transform=op.transform,
    )


def twiddle_tables(transform: RealTransform) -> tuple[Table, ...]:
    """Its factors, as pairs."""
    return (
        Table("twiddles", _pairs(transform.twiddles, transform.dtype)),
        Table("real_twiddles", _pairs(transform.real_twiddles, transform.dtype)),
    )


def _pairs(numbers: Complexes, dtype: DType) -> Array:
    return np.stack([numbers.re, numbers.im], -1).reshape(-1).astype(dtype.numpy)


def lower_energy(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Energies."""
    assert isinstance(op, SpectrumEnergy)
    return EnergyS16(
        function="tg_spectrum_energy",
        reads=(op.input,),
        writes=(op.output,),
        bins=op.output.type.elements,
        start=op.start,
        end=op.end,
    )


def lower_filter_bank(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Sums over filters."""
    assert isinstance(op, FilterBank)
    return FilterBankSums(
        function="tg_filter_bank",
        reads=(op.input,),
        writes=(op.output,),
        tables=filter_tables(op.bank),
        channels=op.output.type.elements,
    )


def filter_tables(filters: MelFilters) -> tuple[Table, ...]:
    """Weights and stretches, by the names of struct tg_filter_bank."""
    return (
        Table("rising", _int16(filters.weights)),
        Table("falling", _int16(filters.unweights)),
        Table("frequency_starts", _int16(filters.frequency_starts)),
        Table("weight_starts", _int16(filters.weight_starts)),
        Table("widths", _int16(filters.widths)),
    )


def lower_root(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Square roots."""
    assert isinstance(op, FilterBankRoot)
    return FilterBankRoots(
        function="tg_filter_bank_root",
        reads=(op.input, op.bits),
        writes=(op.output,),
        size=op.output.type.elements,
    )


def lower_subtraction(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A signal without its noise."""
    assert isinstance(op, SpectralSubtraction)
    return Subtraction(
        function="tg_spectral_subtraction",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.noise,),
        channels=op.input.type.elements,
        reduction=op.reduction,
    )


def lower_gain_control(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A signal times gains."""
    assert isinstance(op, GainControl)
    return Gains(
        function="tg_gain_control",
        reads=(op.input, op.noise),
        writes=(op.output,),
        in_place=(op.input,),
        tables=(Table("gains", _stored(op.gains)),),
        channels=op.input.type.elements,
        shift=op.shift,
    )


def lower_log(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Logarithms."""
    assert isinstance(op, FilterBankLog)
    return FilterBankLogs(
        function="tg_filter_bank_log",
        reads=(op.input,),
        writes=(op.output,),
        tables=(_log_table(),),
        channels=op.input.type.elements,
        logarithm=op.logarithm,
    )


def lower_overlap_add(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Frames added up."""
    assert isinstance(op, OverlapAdd)
    return OverlapAdds(
        function=f"tg_overlap_add_{_SUFFIXES[op.input.type.dtype]}",
        reads=(op.input,),
        writes=op.outputs,
        updates=(op.rest,),
        rows=op.rows,
        frames=op.frames,
        size=op.size,
        step=op.step,
    )


def lower_microfrontend(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """All of it, frame by frame."""
    assert isinstance(op, Microfrontend)
    settings = op.settings
    words = settings.transform.bins + (settings.channels if op.noise is None else 0)
    tables = [
        Table("factors", _int16(settings.factors)),
        *twiddle_tables(settings.transform),
        *filter_tables(settings.filters),
    ]
    tables += [Table("gains", _int16(settings.gains))] if settings.enable_pcan else []
    tables += [_log_table()] if settings.enable_log else []
    return MicrofrontendS16(
        function="tg_microfrontend",
        reads=(op.input,),
        writes=op.outputs,
        updates=() if op.noise is None else (op.noise,),
        tables=tuple(tables),
        scratch_bytes=words * DType.UINT32.bytes,
        frames=op.frames,
        size=settings.window,
        step=settings.step,
        log2_pairs=settings.transform.log2_pairs,
        channels=settings.channels,
        reduction=settings.noise_reduction,
        gain_shift=settings.snr_shift if settings.enable_pcan else 0,
        logarithm=settings.logarithm,
        keeps_noise=op.noise is not None,
    )


def _log_table() -> Table:
    return Table("logarithms", log_table().astype(np.int16))


def _int16(values: Int64Array) -> Array:
    return values.astype(np.int16)


def _stored(tensor: Tensor) -> Array:
    if tensor.data is None:
        raise ValueError(f"'{tensor.name}' is no constant")
    return tensor.data


LOWERINGS: Lowerings = {
    AutoScale: lower_auto_scale,
    FilterBank: lower_filter_bank,
    FilterBankLog: lower_log,
    FilterBankRoot: lower_root,
    GainControl: lower_gain_control,
    InverseRealFourier: lower_fourier,
    Microfrontend: lower_microfrontend,
    OverlapAdd: lower_overlap_add,
    RealFourier: lower_fourier,
    SignalWindow: lower_window,
    SpectralSubtraction: lower_subtraction,
    SpectrumEnergy: lower_energy,
}
