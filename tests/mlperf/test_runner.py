"""The rules of accuracy and performance mode, with a device whose answers are known."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from tinygen.errors import ToolError, UsageError
from tinygen.mlperf import runner
from tinygen.mlperf.dataset import DataSet
from tinygen.mlperf.device import Device, Inference
from tinygen.mlperf.tasks import TASKS
from tinygen.mlperf.transport import Transport

KWS = TASKS["kws"]
NOWHERE = Transport(-1, -1, 1, None)


@dataclass
class Scripted(Device):
    """Takes `inference_us` for an inference; its result is the label that the download's first byte names."""

    inference_us: int = 1000
    loaded: bytes = b""
    asked: list[tuple[int, int]] = field(default_factory=list)

    def load(self, data: bytes) -> None:
        self.loaded = data

    def infer(self, iterations: int, warmups: int) -> Inference:
        self.asked.append((iterations, warmups))
        scores = tuple(float(label == self.loaded[0]) for label in range(12))
        return Inference(scores, iterations * self.inference_us)


def _data(labels: list[int | None], values: list[int]) -> DataSet:
    files = tuple((f"sample {index}", label) for index, label in enumerate(labels))
    return DataSet("made up", files, np.repeat(np.array(values, np.int8)[:, None], 490, 1), KWS)


def _ignore(done: int, total: int) -> None:
    assert done <= total


def test_accuracy() -> None:
    found = runner.accuracy(Scripted(NOWHERE), KWS, _data([3, 4, 5, 6], [3, 4, 5, 7]), None, _ignore)
    assert (found.samples, found.correct, found.top1, found.auc, found.is_met) == (4, 3, 0.75, None, False)
    limited = runner.accuracy(Scripted(NOWHERE), KWS, _data([3, 4, 5, 6], [3, 4, 5, 7]), 3, _ignore)
    assert (limited.samples, limited.top1, limited.is_met) == (3, 1.0, True)


def test_accuracy_needs_labels() -> None:
    with pytest.raises(UsageError) as caught:
        runner.accuracy(Scripted(NOWHERE), KWS, _data([None], [0]), None, _ignore)
    assert str(caught.value) == "made up: has no labels, which accuracy mode needs. Add an array `y`."


def test_iterations_last_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """12,000 inferences of 1 ms, five times, after the runner's own number of warm-ups."""
    times = iter((100.0, 160.5))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    device = Scripted(NOWHERE)
    found = runner.performance(device, KWS, _data([None] * 2, [0, 1]), None, None, _ignore)
    assert device.asked[-5:] == [(12_000, 10)] * 5
    assert found.median_throughput == pytest.approx(1000.0)
    assert (found.is_valid, found.violations, found.host_s) == (True, (), 60.5)
    assert [window.results.index(1.0) for window in found.windows] == [0, 1, 0, 1, 0]


def test_rules_of_performance_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 109.0))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    found = runner.performance(Scripted(NOWHERE), KWS, _data([None], [0]), 70, 3, _ignore)
    assert not found.is_valid
    assert found.violations == (
        "5 of 5 windows took no more than 10 s by the device's clock",
        "the loop took 9.0 s, less than 10 s (the runner's ERROR 2)",
    )


def test_slow_models_end_before_the_runner_loses_patience() -> None:
    device = Scripted(NOWHERE, inference_us=1_000_000)
    runner.performance(device, KWS, _data([None], [0]), None, None, _ignore)
    assert device.asked == [(1, 1), (1, 0), *[(12, 10)] * 5]


@pytest.fixture
def pipes() -> Iterator[tuple[Device, int]]:
    """A device whose answers are written to the second value."""
    commands, replies = os.pipe(), os.pipe()
    yield Device(Transport(commands[1], replies[0], 1, None)), replies[1]
    for end in (*commands, *replies):
        os.close(end)


def _answer(end: int, text: str) -> None:
    os.write(end, text.replace("\n", "\r\n").encode("latin-1"))


def test_identity_is_asked_again(pipes: tuple[Device, int]) -> None:
    device, end = pipes
    _answer(end, "e-[Unknown command: db 00name]\nm-ready\nm-profile-[P]\nm-model-[kws01]\nm-ready\n")
    _answer(end, "\xffm-name-dut-[me]\nm-ready\nm-profile-[P]\nm-model-[kws01]\nm-ready\n")
    assert device.identify().name == "me"


def test_clock_wraps(pipes: tuple[Device, int]) -> None:
    device, end = pipes
    _answer(end, "m-lap-us-4294967290\nm-lap-us-10\nm-results-[0.5,0.25,]\nm-ready\n")
    assert device.infer(1, 0) == Inference((0.5, 0.25), 16)


def test_failures_of_the_device(pipes: tuple[Device, int]) -> None:
    device, end = pipes
    _answer(end, "m-lap-us-1\nm-lap-us-2\ne-[No results: no input]\nm-ready\n")
    with pytest.raises(ToolError) as caught:
        device.infer(1, 0)
    assert str(caught.value) == (
        "firmware: `infer` gave no results, two timestamps and results were expected: "
        "m-lap-us-1 / m-lap-us-2 / e-[No results: no input]"
    )
    _answer(end, "m-[Expecting 1 bytes]\nm-ready\ne-[Invalid hex digit 'zz']\nm-ready\n")
    with pytest.raises(ToolError) as caught:
        device.load(b"1")
    assert str(caught.value) == "firmware: the download of 1 bytes failed: e-[Invalid hex digit 'zz']."
    with pytest.raises(ToolError) as caught:
        device.command("name", 0.05)
    assert str(caught.value) == "firmware: no answer to 'name' within 0.05 s, 'm-ready' was expected."
