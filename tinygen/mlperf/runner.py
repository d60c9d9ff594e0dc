"""The two modes of the benchmark's runner: accuracy of a data set, and throughput by its rules."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tinygen.errors import UsageError
from tinygen.mlperf import metrics
from tinygen.mlperf.dataset import DataSet
from tinygen.mlperf.device import Device
from tinygen.mlperf.tasks import Task

WINDOWS = 5  # measured windows of performance mode
MINIMUM_S = 10.0  # of each, by the device's clock, and of all of them, by the host's

_PROBE_S = 1.0  # of the measurement that says how many iterations are enough
_MARGIN = 1.2  # more iterations than the time just asks for: emulated time varies

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FileResult:
    """One file: its label, and the mean of the results of its windows."""

    file: str
    label: int | None
    results: tuple[float, ...]


@dataclass(frozen=True)
class Accuracy:
    """What accuracy mode finds."""

    samples: int
    correct: int | None  # None: one score a file, no classes
    top1: float | None  # share of correct ones
    auc: float | None  # None where a class does not occur
    quality_required: float | None  # by the rules of the closed division
    is_met: bool | None
    files: tuple[FileResult, ...]


@dataclass(frozen=True)
class PerformanceWindow:
    """One measured window of performance mode."""

    iterations: int
    elapsed_us: int
    throughput: float  # inferences per second; 0 where the clock did not move
    results: tuple[float, ...]


@dataclass(frozen=True)
class Performance:
    """What performance mode finds."""

    windows: tuple[PerformanceWindow, ...]
    median_throughput: float
    host_s: float
    is_valid: bool
    violations: tuple[str, ...]  # of the rules


def accuracy(device: Device, task: Task, data: DataSet, limit: int | None, progress: Progress) -> Accuracy:
    """One inference of every window of every file."""
    count = len(data) if limit is None else min(limit, len(data))
    if not count or any(label is None for _, label in data.files[:count]):
        raise UsageError(f"{data.source}: has no labels, which accuracy mode needs. Add an array `y`.")
    files = []
    for sample in data.samples(count):
        outputs = []
        for window in sample.windows:
            device.load(window)
            outputs.append(device.infer(1, 0).results)
        files.append(_file_result(sample.name, sample.label, outputs))
        progress(len(files), count)
    return _judged(task, tuple(files))


def _file_result(name: str, label: int | None, outputs: Sequence[tuple[float, ...]]) -> FileResult:
    return FileResult(name, label, tuple(float(value) for value in np.mean(np.asarray(outputs), axis=0)))


def _judged(task: Task, files: tuple[FileResult, ...]) -> Accuracy:
    scores = np.asarray([file.results for file in files])
    labels = np.asarray([file.label for file in files], np.int64)
    area = metrics.auc(scores, labels)
    if scores.shape[1] == 1:
        return Accuracy(len(files), None, None, area, task.quality, _is_met(area, task.quality), files)
    correct = metrics.correct(scores, labels)
    top1 = correct / len(files)
    return Accuracy(len(files), correct, top1, area, task.quality, _is_met(top1, task.quality), files)


def _is_met(found: float | None, required: float | None) -> bool | None:
    return None if found is None or required is None else found >= required


def performance(
    device: Device, task: Task, data: DataSet, iterations: int | None, warmups: int | None, progress: Progress
) -> Performance:
    """Five windows of `iterations` inferences each, one file each; without a number, as many as take ten seconds."""
    files = list(data.samples(WINDOWS))
    warmups = task.warmups if warmups is None else warmups
    if not files:
        raise UsageError(f"{data.source}: holds 0 samples, at least 1 was expected.")
    device.load(files[0].windows[0])
    count = iterations or _enough(device, task)
    start = time.monotonic()
    windows = []
    for index in range(WINDOWS):
        device.load(files[index % len(files)].windows[0])
        found = device.infer(count, warmups)
        windows.append(PerformanceWindow(count, found.elapsed_us, _throughput(count, found.elapsed_us), found.results))
        progress(index + 1, WINDOWS)
    host_s = time.monotonic() - start
    violations = _violations(windows, host_s)
    middle = metrics.median([window.throughput for window in windows])
    return Performance(tuple(windows), middle, host_s, not violations, violations)


def _enough(device: Device, task: Task) -> int:
    """Iterations that take ten seconds."""
    single = device.infer(1, 1)
    probe = max(1, min(task.iterations, math.ceil(_PROBE_S * 1e6 / max(single.elapsed_us, 1))))
    seconds = max(device.infer(probe, 0).elapsed_s, 1e-6) / probe
    return math.ceil(MINIMUM_S * _MARGIN / seconds)


def _throughput(count: int, elapsed_us: int) -> float:
    return count * 1e6 / elapsed_us if elapsed_us else 0.0


def _violations(windows: Sequence[PerformanceWindow], host_s: float) -> tuple[str, ...]:
    """Rules of the runner that a measurement breaks."""
    short = sum(window.elapsed_us <= MINIMUM_S * 1e6 for window in windows)
    found = []
    if short:
        found.append(f"{short} of {WINDOWS} windows took no more than {MINIMUM_S:g} s by the device's clock")
    if host_s < MINIMUM_S:
        found.append(f"the loop took {host_s:.1f} s, less than {MINIMUM_S:g} s (the runner's ERROR 2)")
    return tuple(found)
