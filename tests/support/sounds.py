"""Signals that front ends of audio are tried on, and the formula of MLPerf Tiny's features in real numbers."""

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

Int16Array = npt.NDArray[np.int16]
FloatArray = npt.NDArray[np.float64]

WAKE_WORD_SCALE = 0.0037010444793850183  # of the input of MLPerf Tiny's model, whose zero point is -128


def signals(samples: int, rate: int = 16000) -> dict[str, Int16Array]:
    """Of `samples` samples each: silent and loud ones, tones, noise, clicks, and the two extremes in turn."""
    rng = np.random.default_rng(0)
    index = np.arange(samples)
    seconds = index / rate
    found = {
        "silence": np.zeros(samples),
        "hiss": rng.integers(-3, 4, samples),
        "noise": rng.integers(-32768, 32768, samples),
        "tone": 32767 * np.sin(2 * np.pi * 440 * seconds),
        "tone and hiss": 32000 * np.sin(2 * np.pi * 1000 * seconds) + rng.normal(0, 2, samples),
        "square": np.where(index // 40 % 2, 32767, -32768),
        "clicks": np.where(index % 700, 0, 32767),
        "chirp": 20000 * np.sin(2 * np.pi * (100 * seconds + 3500 * seconds**2)),
        "extremes in turn": np.where(index % 2, 32767, -32768),
        "one extreme": np.full(samples, -32768),
    }
    return {name: np.round(values).astype(np.int16) for name, values in found.items()}


def read_wave(file: Path) -> Int16Array:
    """The left channel of a file of 16 bits."""
    with wave.open(str(file)) as source:
        frames = np.frombuffer(source.readframes(source.getnframes()), "<i2")
        return frames.reshape(-1, source.getnchannels())[:, 0].astype(np.int16)


def log_mel_reference(samples: Int16Array, length: int = 1024, hop: int = 512, bands: int = 40) -> FloatArray:
    """Features [frames, bands] from 0 to 1 of samples at 16 kHz, of which the first only precedes the first frame.

    Pre-emphasis, periodic Hamming window, discrete Fourier transform, power, triangles of TensorFlow's
    `linear_to_mel_weight_matrix` as a dense matrix, decibels. The transform is of the next power of two.
    """
    real = samples.astype(np.float64) / 32768
    emphasized = real[1:] - (1 - 2.0**-5) * real[:-1]
    window = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(length) / length)
    starts = range(0, len(emphasized) - length + 1, hop)
    size = 1 << (length - 1).bit_length()
    spectra = np.fft.rfft(np.stack([emphasized[start : start + length] * window for start in starts]), size)
    power = np.abs(spectra) ** 2 / length
    mels = 1127 * np.log(1 + np.linspace(0, 8000, size // 2 + 1)[1:, np.newaxis] / 700)
    marks = np.linspace(0, 1127 * np.log(1 + 8000 / 700), bands + 2)
    rising = (mels - marks[:-2]) / np.diff(marks)[:-1]
    falling = (marks[2:] - mels) / np.diff(marks)[1:]
    energies = np.maximum(power[:, 1:] @ np.maximum(0, np.minimum(rising, falling)), 1e-30)
    features: FloatArray = np.clip((10 * np.log10(energies) + 52) / 64, 0, 1)
    return features
