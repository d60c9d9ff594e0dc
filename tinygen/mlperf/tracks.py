"""Tracks of sound in which words are to be found, and how the benchmark's runner counts what was found."""

import json
import math
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinygen.errors import ToolError, UsageError

Int16Array = npt.NDArray[np.int16]

SAMPLE_RATE = 16000
LATE_S = 2.0  # behind its end a word may still be found: the runner adds its second twice
DEBOUNCE_S = 1.0  # after a false positive, others are the same one
MOST_MISTAKES = 8  # false positives, and words that are not found, of the benchmark's 20 minutes

_LONGEST_TRACK_S = 1280  # of which firmware keeps the activations: MAX_ACTIVATIONS of listen.c
_LARGEST_TRUTH = 1 << 20  # bytes


@dataclass(frozen=True)
class Track:
    """A file, and where in it the word is."""

    file: str
    words: tuple[tuple[float, float], ...]  # seconds, begin and end


@dataclass(frozen=True)
class Score:
    """What was found in a track."""

    found: tuple[float, ...]  # beginnings of the words, seconds
    missed: tuple[float, ...]
    false_positives: tuple[float, ...]


def read_truth(file: Path) -> tuple[Track, ...]:
    """The tracks of a truth file of the runner; UsageError."""
    expected = "a list of objects with wav_file and detection_windows was expected"
    try:
        if file.stat().st_size > _LARGEST_TRUTH:
            raise UsageError(f"{file}: has more than {_LARGEST_TRUTH} bytes, {expected}.")
        entries = json.loads(file.read_text(encoding="utf-8"))
        tracks = tuple(
            Track(_base_name(entry["wav_file"]), tuple(_window(given) for given in entry["detection_windows"]))
            for entry in entries
        )
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}), {expected}. Correct the path.") from None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise UsageError(f"{file}: is no truth file of tracks, {expected}.") from None
    if not tracks:
        raise UsageError(f"{file}: names no track, at least 1 was expected.")
    return tracks


def _base_name(name: object) -> str:
    if not isinstance(name, str) or not name or name in {".", ".."} or not set(name).isdisjoint("/\\\0"):
        raise ValueError(name)
    return name


def _window(given: Sequence[object]) -> tuple[float, float]:
    seconds = [float(second) for second in given if isinstance(second, int | float)]
    if len(seconds) != len(given):
        raise TypeError(given)
    begin, end = seconds
    if not (math.isfinite(begin) and math.isfinite(end) and begin <= end):
        raise ValueError(given)
    return begin, end


def read_track(folder: Path, name: str) -> Int16Array:
    """The left channel of a WAV file of 16 bits at 16 kHz in a folder; UsageError."""
    try:
        file = folder / _base_name(name)
    except ValueError:
        raise UsageError(f"{name!r}: is no name of a file in {folder}, one was expected. Correct it.") from None
    try:
        with wave.open(str(file), "rb") as source:
            channels, width, rate, count = source.getparams()[:4]
            if (width, rate) != (2, SAMPLE_RATE) or channels not in (1, 2) or count > _LONGEST_TRACK_S * rate:
                raise UsageError(
                    f"{file}: has {channels} channels of {8 * width} bits, {count} samples at {rate} Hz; 1 or 2 of 16 "
                    f"bits at {SAMPLE_RATE} Hz, of {_LONGEST_TRACK_S} seconds at most, were expected. Convert it."
                )
            data = source.readframes(count)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}), a WAV file was expected.") from None
    except (wave.Error, EOFError, RuntimeError) as error:  # the last where sizes of chunks do not fit each other
        raise UsageError(
            f"{file}: is no WAV file ({str(error) or 'damaged'}), one of 16 bits at {SAMPLE_RATE} Hz was expected."
        ) from None
    if len(data) != count * channels * width:
        raise UsageError(
            f"{file}: ends after {len(data)} bytes of samples, {count * channels * width} were expected. Copy it again."
        )
    return np.frombuffer(data, "<i2").reshape(-1, channels)[:, 0].astype(np.int16)


def score(detections_ms: Sequence[int], words: Sequence[tuple[float, float]]) -> Score:
    """Found words and false positives by the runner's rule; the first detection is the beginning of the track.

    ToolError where there is none.
    """
    if not detections_ms:
        raise ToolError("firmware: has detected nothing, at least the first block was expected to be marked.")
    left = [(time - detections_ms[0]) / 1000 for time in detections_ms[1:]]
    found: list[float] = []
    missed: list[float] = []
    for begin, end in words:
        others = [time for time in left if not begin <= time <= end + LATE_S]
        (found if len(others) < len(left) else missed).append(begin)
        left = others
    false_positives: list[float] = []
    for time in left:
        if not false_positives or time > false_positives[-1] + DEBOUNCE_S:
            false_positives.append(time)
    return Score(tuple(found), tuple(missed), tuple(false_positives))
