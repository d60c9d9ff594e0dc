"""The streaming wake word: tracks are played, and what the firmware hears is counted as the benchmark's runner does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinygen.errors import ToolError
from tinygen.mlperf.device import Device
from tinygen.mlperf.interface_board import TICK_US, InterfaceBoard
from tinygen.mlperf.runner import Progress
from tinygen.mlperf.tracks import MOST_MISTAKES, Score, Track, score

_ACTIVATIONS = re.compile(r"target activations:\[([-0-9, ]*)\]")


@dataclass(frozen=True)
class TrackResult:
    """One track."""

    file: str
    score: Score
    activations: tuple[int, ...]  # stored outputs for the word, one a block
    duty_cycle: float  # share of time in which blocks are processed
    period_s: float  # of blocks
    processing_s: float  # mean time of a block, by the device's clock


@dataclass(frozen=True)
class Listened:
    """All tracks together."""

    tracks: tuple[TrackResult, ...]
    words: int
    missed: int
    false_positives: int
    most_mistakes: int  # of either kind, by the rules of the closed division for its long track
    is_met: bool
    throughput: float  # blocks per second of processing


def listen(device: Device, interface: InterfaceBoard, tracks: Sequence[Track], progress: Progress) -> Listened:
    """Play all tracks, in the order of the runner's commands. ToolError where blocks are lost."""
    results = []
    for track in tracks:
        results.append(_result(device, interface, track))
        progress(len(results), len(tracks))
    missed = sum(len(result.score.missed) for result in results)
    false_positives = sum(len(result.score.false_positives) for result in results)
    return Listened(
        tracks=tuple(results),
        words=sum(len(track.words) for track in tracks),
        missed=missed,
        false_positives=false_positives,
        most_mistakes=MOST_MISTAKES,
        is_met=max(missed, false_positives) <= MOST_MISTAKES,
        throughput=1 / float(np.mean([result.processing_s for result in results])),
    )


def _result(device: Device, interface: InterfaceBoard, track: Track) -> TrackResult:
    device.command("stop")
    device.command("start")
    for command in ("record_detections", f"play {track.file}"):
        complaints = [line for line in interface.answer(command) if line.startswith("e-")]
        if complaints:
            raise ToolError(f"{track.file}: cannot be played: {complaints[0]}")
    activations = _activations(device.command("stop"))
    starts, stops = (np.array(times) * TICK_US / 1e6 for times in (interface.starts, interface.stops))
    if not len(starts) == len(stops) == len(activations) or len(starts) < 2:
        raise ToolError(
            f"{track.file}: {len(starts)} blocks were begun, {len(stops)} ended and {len(activations)} activations "
            "came, as many of each, at least 2, were expected."
        )
    period_s, processing_s = float(np.mean(np.diff(starts))), float(np.mean(stops - starts))
    found = score(interface.detections_ms, track.words)
    return TrackResult(track.file, found, activations, processing_s / period_s, period_s, max(processing_s, 1e-9))


def _activations(lines: Sequence[str]) -> tuple[int, ...]:
    match = _ACTIVATIONS.search("".join(lines))
    if match is None:
        raise ToolError(f"firmware: prints no activations but {' '.join(lines)[:80]!r}.")
    return tuple(int(number) for number in match[1].split(",") if number.strip())
