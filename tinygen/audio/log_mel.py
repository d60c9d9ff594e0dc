"""Logarithms of mel energies in decibels: the front end of MLPerf Tiny's streaming wake word, as by default."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tinygen.audio.front_end import FrontEnd, Made, Site
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.log_mel import FULL_SCALE, LogMel
from tinygen.ops.spectrum import to_q15

FloatArray = npt.NDArray[np.float64]

_DECIBELS = 10 * math.log10(2)  # of an octave of energy
_SMALLEST_TRANSFORM, _LARGEST_TRANSFORM = 16, 1 << 13  # samples


class WindowShape(Enum):
    """Generalized cosine windows, periodic: a - (1 - a) * cos(2 pi i / length), by a."""

    hamming = 0.54
    hann = 0.5


@dataclass(frozen=True, kw_only=True)
class LogMelFrontEnd(FrontEnd):
    """feature = (10 log10(energy) + offset_db) / range_db, from 0 to 1.

    Samples are real numbers from -1 to 1, of which each is lessened by `pre_emphasis` times the one before. A frame,
    windowed and padded with zeros to a power of two, has the powers |X|^2 / window samples, and `channels` triangles
    from `lowest_hz` to `highest_hz`, evenly spaced and linear in mel = 1127 ln(1 + f / 700), weight its bins, of which
    that of 0 Hz is left out; a triangle without bins hears nothing. Those are the formulas of MLPerf Tiny's training
    and reference submission for `sww01`; their features, from 0 to 255 of a scale, are cut off where these are rounded
    to the nearest.
    """

    kind: ClassVar[str] = "log_mel"

    window_ms: int = 64
    step_ms: int = 32
    window_shape: str = WindowShape.hamming.name
    pre_emphasis: float = 0.96875
    lowest_hz: float = 0.0
    highest_hz: float = 8000.0
    offset_db: float = 52.0
    range_db: float = 64.0

    def __post_init__(self) -> None:
        super().__post_init__()
        shapes = [shape.name for shape in WindowShape]
        if self.window_shape not in shapes:
            raise self._refusal("window_shape", f"one of {', '.join(shapes)}")
        if self.window % 2 or not self.window <= _LARGEST_TRANSFORM:
            raise self._refusal("window_ms", f"an even number of samples, at most {_LARGEST_TRANSFORM}")
        if not 0 <= self.pre_emphasis < 1:
            raise self._refusal("pre_emphasis", "0 or more, and less than 1")
        if not 0 <= self.lowest_hz < self.highest_hz <= self.sample_rate / 2:
            raise self._refusal("highest_hz", f"more than lowest_hz, at most {self.sample_rate / 2:g}")
        if not len(self._bands()[1]):
            raise self._refusal(
                "highest_hz", f"a multiple of {self.sample_rate / self.transform:g} Hz from lowest_hz on below it"
            )
        if not 1 <= self.range_db <= 1000:
            raise self._refusal("range_db", "1 to 1000")
        if not abs(self.offset_db) <= 1000:
            raise self._refusal("offset_db", "-1000 to 1000")

    @property
    def kept(self) -> int:
        """One sample more with pre-emphasis: that before the first frame."""
        return super().kept + (self._emphasis != 0)

    @property
    def transform(self) -> int:
        """Samples of the discrete Fourier transform: a power of two."""
        return int(max(_SMALLEST_TRANSFORM, 1 << (self.window - 1).bit_length()))

    def operators(self, samples: Tensor, features: Tensor, place: Site) -> Made:
        edges, rises = self._bands()
        op = LogMel(
            name=place.name("log_mel"),
            source=place.source("LOG_MEL"),
            input=samples,
            window=_constant(place, "window weights", to_q15(self._window_weights())),
            edges=_constant(place, "edges", edges),
            rises=_constant(place, "rises", to_q15(rises)),
            output=features,
            transform=self.transform,
            hop=self.step,
            emphasis=self._emphasis,
            per_octave=_DECIBELS / self.range_db,
            at_one=(self.offset_db - 10 * math.log10(self.window)) / self.range_db,
            lowest=0.0,
            highest=1.0,
        )
        return Made((op,))

    @property
    def _emphasis(self) -> int:
        return min(round(self.pre_emphasis * FULL_SCALE), FULL_SCALE - 1)

    def _window_weights(self) -> FloatArray:
        a = WindowShape[self.window_shape].value
        weights: FloatArray = a - (1 - a) * np.cos(2 * np.pi * np.arange(self.window) / self.window)
        return weights

    def _bands(self) -> tuple[Array, FloatArray]:
        """The first bin of each segment between peaks and ends of the triangles, and how far each bin is in its own."""
        marks = np.linspace(_mel(self.lowest_hz), _mel(self.highest_hz), self.channels + 2)
        bins = _mel(np.arange(self.transform // 2) * self.sample_rate / self.transform)
        edges = np.maximum(np.searchsorted(bins, marks), 1)
        segments = np.repeat(np.arange(self.channels + 1), np.diff(edges))
        inside = bins[edges[0] : edges[-1]]
        return edges, (inside - marks[segments]) / (marks[segments + 1] - marks[segments])


def _mel(hertz: npt.ArrayLike) -> FloatArray:
    mel: FloatArray = 1127.0 * np.log(1 + np.asarray(hertz, np.float64) / 700.0)
    return mel


def _constant(place: Site, role: str, values: Array) -> Tensor:
    data = values.astype(np.int16)
    return place.tensor(role, TensorType(DType.INT16, data.shape), data)
