"""A TFLite model of all of TFLite Micro's operators on signals, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array
from tinygen.ops.microfrontend import MicrofrontendSettings

_TYPES = {"float32": 0, "int32": 2, "int16": 7}


@dataclass(eq=False)
class SignalModel:
    """A model in the making; outputs behind a truth value hold only where it is true."""

    writer: ModelWriter = field(default_factory=ModelWriter)
    inputs: list[int] = field(default_factory=list)
    types: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    valid: dict[int, int] = field(default_factory=dict)  # by output number, that of its truth value
    count: int = 0

    def input(self, shape: Sequence[int], type: str) -> int:
        """A further input."""
        self.inputs.append(self.writer.tensor(f"x{len(self.inputs)}", shape, type))
        self.types.append((tuple(shape), type))
        return self.inputs[-1]

    def constant(self, values: Sequence[int] | Array) -> int:
        """Of int16."""
        self.count += 1
        data = np.asarray(values, np.int16)
        return self.writer.tensor(f"c{self.count}", data.shape, "int16", data=data)

    def add(
        self,
        name: str,
        inputs: Sequence[int],
        *results: tuple[Sequence[int], str],
        is_output: bool = True,
        **options: int | bool,
    ) -> list[int]:
        """An operator Signal`name`; its results, which are outputs too."""
        found = []
        for shape, type in results:
            self.count += 1
            found.append(self.writer.tensor(f"{name} {self.count}", shape, type))
        data = bytes(flexbuffers.Dumps(options))
        self.writer.operator("CUSTOM", inputs, found, custom_code=f"Signal{name}", custom_options=data)
        if is_output:
            if results[-1][1] == "bool":
                self.valid[len(self.outputs)] = len(self.outputs) + 1
            self.outputs += found
        return found

    def finish(self) -> bytes:
        """The model as a file's bytes."""
        return self.writer.finish(self.inputs, self.outputs)

    def calls(self, count: int, seed: int) -> list[list[Array]]:
        """Values for the inputs of consecutive calls: noise, silence, full scale, the smallest numbers."""
        rng = np.random.default_rng(seed)
        return [[_values(shape, type, rng, call) for shape, type in self.types] for call in range(count)]


def _values(shape: Sequence[int], type: str, rng: np.random.Generator, call: int) -> Array:
    if type == "float32":
        return rng.normal(0, 1, shape).astype(np.float32)
    top = np.iinfo(type).max
    scale = (0.02, 0.0, 1.0, 0.4)[call % 4]
    values = np.clip(np.rint(rng.normal(0, 1, shape) * scale * top), -top - 1, top)
    if call % 8 > 3:
        values[rng.random(shape) < 0.05] = -top - 1
    return values.astype(type)


def signal_model() -> SignalModel:
    """All operators, with transforms of lengths that take radix 4 alone, radix 2 too, and radix 3 and 5."""
    model, rng = SignalModel(), np.random.default_rng(3)
    x = model.input((2, 32), "int16")
    model.add("Window", [x, model.constant(rng.integers(-5000, 32767, 32))], ((2, 32), "int16"), shift=12)
    add_features(model)
    _transforms(model)
    x = model.input((2, 8), "int16")
    model.add("Delay", [x], ((2, 8), "int16"), delay_length=5)
    model.add("Delay", [x], ((2, 8), "int16"), delay_length=11)
    for shape in ((2, 12), (12,)):
        x = model.input(shape, "int16")
        for size, prefill in ((10, True), (10, False), (4, False), (9, True)):
            frames = (*shape[:-1], 3, size)
            model.add("Framer", [x], (frames, "int16"), ((), "bool"), frame_size=size, frame_step=4, prefill=prefill)
    x = model.input((4,), "int16")
    for left, right, step in ((2, 1, 2), (0, 2, 3), (0, 0, 1), (3, 0, 1)):
        stack = ((4 * (left + 1 + right),), "int16")
        contexts: dict[str, Any] = {"stacker_left_context": left, "stacker_right_context": right}
        model.add("Stacker", [x], stack, ((), "bool"), num_channels=4, stacker_step=step, **contexts)
    for type in ("int16", "float32"):
        x = model.input((2, 3, 8), type)
        model.add("OverlapAdd", [x], ((2, 15), type), T=_TYPES[type], frame_step=5)
    return model


def add_features(model: SignalModel, channels: int = 6, samples: int = 60) -> None:
    """From samples, at 1 kHz, to logarithms."""
    settings = MicrofrontendSettings(
        channels=channels, sample_rate=1000, window_ms=samples, lower_band_limit=30, upper_band_limit=450
    )
    filters, noise, length = settings.filters, settings.noise_reduction, settings.transform.length
    count = length // 2 + 1
    x = model.input((samples,), "int16")
    scaled, bits = model.add("FftAutoScale", [x], ((samples,), "int16"), ((), "int32"))
    (spectrum,) = model.add("Rfft", [scaled], ((length + 2,), "int16"), T=7, fft_length=length)
    bins = {"start_index": int(filters.frequency_starts[0]), "end_index": count}
    (energy,) = model.add("Energy", [spectrum], ((count,), "uint32"), is_output=False, **bins)
    arrays = (filters.weights, filters.unweights, filters.frequency_starts, filters.weight_starts, filters.widths)
    bank = [energy, *(model.constant(values) for values in arrays)]
    (sums,) = model.add("FilterBank", bank, ((channels,), "uint64"), num_channels=channels)
    (root,) = model.add("FilterBankSquareRoot", [sums, bits], ((channels,), "uint32"))
    for clamping in (False, True):
        left, estimate = model.add(
            "FilterBankSpectralSubtraction",
            [root],
            ((channels,), "uint32"),
            ((channels,), "uint32"),
            smoothing=noise.smoothing,
            one_minus_smoothing=noise.one_minus_smoothing,
            alternate_smoothing=noise.alternate_smoothing,
            alternate_one_minus_smoothing=noise.alternate_one_minus_smoothing,
            min_signal_remaining=noise.min_signal_remaining,
            smoothing_bits=noise.smoothing_bits,
            spectral_subtraction_bits=noise.fraction_bits,
            num_channels=channels,
            clamping=clamping,
        )
        gains = model.constant(settings.gains)
        (gained,) = model.add("PCAN", [left, estimate, gains], ((channels,), "uint32"), snr_shift=6)
        model.add("FilterBankLog", [gained], ((channels,), "int16"), input_correction_bits=3, output_scale=64)


def _transforms(model: SignalModel) -> None:
    """Spectra and back, of all types of numbers."""
    powers = (("int16", 32, 32), ("int16", 128, 101), ("int32", 64, 50), ("float32", 64, 64))
    mixed = (
        ("int16", 480, 480),
        ("int16", 6, 6),
        ("int16", 180, 101),
        ("int32", 48, 48),
        ("int32", 250, 199),
        ("float32", 360, 360),
    )
    for type, length, size in powers + mixed:
        x, spectrum = model.input((2, size), type), ((2, length + 2), type)
        (bins,) = model.add("Rfft", [x], spectrum, T=_TYPES[type], fft_length=length)
        model.add("Irfft", [bins], ((2, length), type), T=_TYPES[type], fft_length=length)
    for type, length in product(("int16", "int32"), (32, 30)):
        x = model.input((1, length + 2), type)
        model.add("Irfft", [x], ((1, length), type), T=_TYPES[type], fft_length=length)
