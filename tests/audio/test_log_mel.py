"""Logarithms of mel energies: near MLPerf Tiny's features in real numbers, and the same bytes in C."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import interpreter
from tests.support.schedules import run_schedule
from tests.support.shared import shared_file
from tests.support.sounds import WAKE_WORD_SCALE, FloatArray, log_mel_reference, read_wave, signals
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.audio.front_end import Int16Array, Site
from tinygen.audio.log_mel import LogMelFrontEnd, WindowShape
from tinygen.build.toolchain import Sanitizer
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.planner.plan import plan
from tinygen.targets import load
from tinygen.verify import reference

WAKE_WORD = TensorType(DType.INT8, (), Quant((WAKE_WORD_SCALE,), (-128,)))
TARGETS = [
    pytest.param("host", marks=requires_host_cc),
    *(
        pytest.param(board, marks=[pytest.mark.qemu, requires_qemu])
        for board in ("microbit", "mps2-an386", "mps3-an547")
    ),
]


def _distances(samples: Int16Array) -> FloatArray:
    """Between stored features and those of the formula, rounded to the nearest."""
    expected = np.floor(log_mel_reference(samples) / WAKE_WORD_SCALE - 128 + 0.5)
    distances: FloatArray = LogMelFrontEnd().stored(samples, WAKE_WORD) - np.clip(expected, -128, 127)
    return distances


@pytest.mark.parametrize("name", signals(1))
def test_item_17_log_mel_of_signals(name: str) -> None:
    """Of all values at most one in forty differs, by 1."""
    distances = _distances(signals(16384)[name])
    assert np.abs(distances).max() <= 1
    assert np.count_nonzero(distances) <= distances.size / 40


@pytest.mark.parametrize(
    ("window_ms", "bands", "without_bins"), [(16, 40, 0), (25, 64, 0), (30, 300, 43), (128, 40, 0), (512, 1024, 0)]
)
def test_item_17_log_mel_of_other_transforms(window_ms: int, bands: int, without_bins: int) -> None:
    """Of 256 to 8192 samples, some with zeros behind the window; bands that no frequency falls in hear nothing."""
    samples = signals(16384)["noise"]
    front_end = LogMelFrontEnd(window_ms=window_ms, step_ms=window_ms // 2, channels=bands)
    expected = log_mel_reference(samples, front_end.window, front_end.step, bands)
    found = front_end.features(samples)
    assert found.shape == expected.shape
    assert np.count_nonzero((expected == 0).all(axis=0)) == without_bins
    np.testing.assert_array_equal((found == 0).all(axis=0), (expected == 0).all(axis=0))
    assert np.abs(found - expected).max() < 2e-3


def test_item_17_log_mel_of_the_official_track() -> None:
    """Of 12,440 values 5 differ, by 1; from the bytes that the benchmark publishes, which are cut off, at most by 1."""
    samples = read_wave(shared_file("eval/sww_easy10s.wav"))
    distances = _distances(samples)
    assert np.abs(distances).max() <= 1
    assert np.count_nonzero(distances) <= 5
    with np.load(shared_file("eval/sww01.npz")) as data:
        published = data["spec_q"].astype(int)
    found = LogMelFrontEnd().stored(np.concatenate([np.zeros(1, np.int16), samples]), WAKE_WORD)
    assert np.abs(found[: len(published)] - published).max() <= 1


def test_item_17_log_mel_detects_the_same() -> None:
    """Windows of the official track in which MLPerf Tiny's model finds the word, in LiteRT, by the bytes of real
    numbers as its reference submission makes them and by those of the operator."""
    samples = read_wave(shared_file("eval/sww_easy10s.wav"))
    cut_off = np.trunc(log_mel_reference(samples) / WAKE_WORD_SCALE - 128)
    real = _detections(np.clip(cut_off, -128, 127).astype(np.int8))
    assert _detections(LogMelFrontEnd().stored(samples, WAKE_WORD)) == real
    assert len(real) > 10


def _detections(features: Array) -> list[int]:
    loaded = interpreter(shared_file("models/mlperf_tiny/str_ww_ref_model.tflite"))
    (given,), (found,) = loaded.get_input_details(), loaded.get_output_details()
    detected = []
    for window in range(len(features) - 29):
        loaded.set_tensor(given["index"], features[window : window + 30].reshape(1, 30, 1, 40))
        loaded.invoke()
        if loaded.get_tensor(found["index"])[0, 0] > 115:
            detected.append(window)
    return detected


def test_item_17_log_mel_as_real_numbers() -> None:
    samples = signals(8192)["chirp"]
    found = LogMelFrontEnd().features(samples)
    assert found.dtype == np.float32
    assert np.abs(found - log_mel_reference(samples)).max() < 1e-3


@pytest.mark.parametrize("target", TARGETS)
def test_item_17_log_mel_runs(target: str, tmp_path: Path) -> None:
    """Random front ends side by side in one program, on frames of all signals."""
    graph = _side_by_side(np.random.default_rng(17), count=6)
    board = load(target)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa))
    samples = [_samples(graph, number) for number in range(len(signals(1)))]
    sanitizers = tuple(Sanitizer) if board.is_host else ()
    outputs = run_schedule(schedule, Library.PORTABLE, tmp_path, samples, sanitizers)
    for sample, found in zip(samples, outputs, strict=True):
        arrays = reference.evaluate(graph, sample)
        for tensor, output in zip(graph.output_tensors, found, strict=True):
            np.testing.assert_array_equal(output, arrays[tensor])


def _side_by_side(rng: np.random.Generator, count: int) -> Graph:
    """One of MLPerf Tiny's, one that hears a single frequency, and others, with results of all types."""
    kinds = (
        WAKE_WORD,
        TensorType(DType.INT16, (), Quant((2.0**-14,), (0,))),
        TensorType(DType.FLOAT32, ()),
    )
    ops: list[Op] = []
    for number in range(count):
        fixed = (LogMelFrontEnd(channels=8), LogMelFrontEnd(channels=5, window_ms=4, step_ms=2, highest_hz=300.0))
        front_end = fixed[number] if number < len(fixed) else _random_front_end(rng)
        rows, kind = int(rng.integers(1, 3)), kinds[number % len(kinds)]
        samples = Tensor(f"samples{number}", TensorType(DType.INT16, (front_end.kept + rows * front_end.step,)))
        features = TensorType(kind.dtype, (rows, front_end.channels), kind.quant)
        place = Site(f"front end {number}", {tensor.name for op in ops for tensor in (*op.operands, *op.results)})
        ops += front_end.operators(samples, Tensor(f"features{number}", features), place).ops
    for op in ops:
        op.verify()
    inputs, outputs = [op.variable_operands[0] for op in ops], [op.results[0] for op in ops]
    return Graph("front ends", _ports(inputs), _ports(outputs), tuple(ops))


def _ports(tensors: list[Tensor]) -> tuple[Port, ...]:
    return tuple(Port(tensor.name, tensor, tensor.type) for tensor in tensors)


def _random_front_end(rng: np.random.Generator) -> LogMelFrontEnd:
    rate = int(rng.choice([8000, 16000]))
    window_ms = int(rng.choice([2, 8, 25, 32, 40]))
    return LogMelFrontEnd(
        sample_rate=rate,
        window_ms=window_ms,
        step_ms=int(rng.integers(1, window_ms + 1)),
        channels=int(rng.integers(1, 30)),
        window_shape=str(rng.choice([shape.name for shape in WindowShape])),
        pre_emphasis=float(rng.choice([0.0, 0.5, 0.97])),
        lowest_hz=float(rng.choice([0, 20, 300])),
        highest_hz=float(rng.choice([3000, 4000])),
        offset_db=float(rng.integers(40, 120)),
        range_db=float(rng.integers(50, 150)),
    )


def _samples(graph: Graph, number: int) -> list[Int16Array]:
    """The signal of that number for the first front end, the next one for the second, and so on."""
    all_signals = list(signals(4096).values())
    return [
        all_signals[(number + index) % len(all_signals)][97 : 97 + tensor.shape[0]]
        for index, tensor in enumerate(graph.input_tensors)
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window_shape": "kaiser"}, "window_shape is kaiser, one of hamming, hann was expected"),
        ({"window_ms": 1000}, "window_ms is 1000, an even number of samples, at most 8192 was expected"),
        ({"pre_emphasis": 1.0}, "pre_emphasis is 1.0, 0 or more, and less than 1 was expected"),
        ({"highest_hz": 9000}, "highest_hz is 9000, more than lowest_hz, at most 8000 was expected"),
        ({"highest_hz": 15}, "highest_hz is 15, a multiple of 15.625 Hz from lowest_hz on below it was expected"),
        (
            {"highest_hz": 8000, "lowest_hz": 7999},
            "highest_hz is 8000, a multiple of 15.625 Hz from lowest_hz on below it was expected",
        ),
        ({"range_db": 0}, "range_db is 0, 1 to 1000 was expected"),
        ({"offset_db": 2000}, "offset_db is 2000, -1000 to 1000 was expected"),
    ],
)
def test_item_17_log_mel_refusals(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=f"^front end log_mel: {message}"):
        LogMelFrontEnd.made_of(change)
