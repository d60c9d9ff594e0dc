"""The microfrontend: features to the bit of the C library's, before networks and in numpy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.support.command_line import tinygen
from tests.support.graphs import GraphBuilder
from tests.support.schedules import run_schedule
from tests.support.sounds import Int16Array, signals
from tests.support.stateful import litert_calls
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tests.support.wake_word import CALL, CHANNELS, FRONT_END, ROWS, signal, wake_word_model
from tinygen import api
from tinygen.audio import MicroFrontEnd, microfrontend
from tinygen.audio.micro import BY_SCALE, MICRO_SPEECH
from tinygen.build.toolchain import Sanitizer
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, DType, Float32Array, Quant, TensorType
from tinygen.kernels.base import Library, Toolbox
from tinygen.planner.plan import plan
from tinygen.targets import load
from tinygen.verify.oracle import Oracle

try:
    from pymicro_features import MicroFrontend as Library_
except ImportError:
    Library_ = None

needs_library = pytest.mark.skipif(
    Library_ is None, reason="pymicro-features is not installed: nothing was compared with the C library"
)
TARGETS = [
    pytest.param("host", id="host-sanitized"),
    pytest.param("mps2-an386", id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]
_BYTES = 2  # of a sample


def _library_features(samples: Int16Array) -> Float32Array:
    """What the C library makes of a signal, with microWakeWord's settings."""
    library, data, at, rows = Library_(), samples.astype("<i2").tobytes(), 0, []
    while at < len(data):
        found = library.process_samples(data[at : at + 320])
        at += _BYTES * found.samples_read
        rows += [found.features] if found.features else []
    return np.array(rows, np.float32).reshape(-1, 40)


@needs_library
@pytest.mark.parametrize("name", signals(1))
def test_item_17_microfrontend_is_the_library(name: str) -> None:
    """Of all whole windows, and of calls after silence."""
    samples = signals(16000)[name]
    np.testing.assert_array_equal(microfrontend().features(samples), _library_features(samples))
    behind = np.concatenate([np.zeros(320, np.int16), samples])
    np.testing.assert_array_equal(microfrontend().features(samples, after_silence=True), _library_features(behind))


@needs_library
def test_item_17_smallest_samples_are_no_large_ones() -> None:
    """-32768 alone says nothing about the scale of a frame, so that others overflow, as in the library."""
    rng = np.random.default_rng(0)
    samples = np.where(rng.random(8000) < 0.004, -32768, rng.normal(0, 40, 8000)).astype(np.int16)
    np.testing.assert_array_equal(microfrontend().features(samples), _library_features(samples))


def _network(rows: int, channels: int, kind: TensorType) -> Graph:
    build = GraphBuilder()
    network = build.graph(build.copy(build.input(1, rows, channels)))
    (port,), (op,) = network.inputs, network.ops
    types = {tensor: replace(tensor, type=replace(kind, shape=tensor.shape)) for tensor in (port.tensor, *op.results)}
    changed = network.replace_tensors(types)
    ports = (replace(changed.inputs[0], external=types[port.tensor].type),)
    outputs = (replace(changed.outputs[0], external=types[op.results[0]].type),)
    return replace(changed, inputs=ports, outputs=outputs)


def _random_front_end(rng: np.random.Generator, conversion: str) -> MicroFrontEnd:
    rate, window = int(rng.choice([8000, 16000, 44100])), int(rng.choice([4, 10, 25, 40]))
    return MicroFrontEnd(
        sample_rate=rate,
        window_ms=window,
        step_ms=int(rng.integers(1, window + 1)),
        channels=int(rng.integers(1, 41)),
        lower_band_limit=float(rng.choice([20, 125, 300])),
        upper_band_limit=float(rng.choice([3000, 3600])),
        smoothing_bits=int(rng.choice([8, 10])),
        even_smoothing=float(rng.choice([0.025, 0.5])),
        min_signal_remaining=float(rng.choice([0.0, 0.05, 0.5])),
        enable_pcan=bool(rng.integers(2)),
        pcan_strength=float(rng.choice([0.5, 0.95])),
        enable_log=bool(rng.integers(4)) or conversion == MICRO_SPEECH,
        feature_scale=0.01,
        conversion=conversion,
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kind", "conversion"),
    [
        (TensorType(DType.INT8, (), Quant((0.05,), (-100,))), BY_SCALE),
        (TensorType(DType.INT8, (), Quant((0.05,), (-100,))), MICRO_SPEECH),
        (TensorType(DType.INT16, (), Quant((0.01,), (0,))), BY_SCALE),
        (TensorType(DType.FLOAT32, ()), BY_SCALE),
    ],
    ids=["int8", "micro_speech", "int16", "float32"],
)
def test_item_17_microfrontend_runs(kind: TensorType, conversion: str, target: str, tmp_path: Path) -> None:
    """Random settings, call by call, give what numpy gives of the whole signal."""
    rng, board = np.random.default_rng(len(conversion) + len(kind.dtype.value)), load(target)
    for number in range(2 if board.is_host else 1):
        front_end, rows = _random_front_end(rng, conversion), int(rng.integers(1, 4))
        graph = front_end.before(_network(rows, front_end.channels, kind))
        schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa))
        samples = signals(5 * rows * front_end.step)["chirp" if number % 2 else "extremes in turn"]
        samples[: len(samples) // 3] //= 50
        calls = samples.reshape(5, -1)
        folder = tmp_path / str(number)
        folder.mkdir()
        sanitizers = tuple(Sanitizer) if board.is_host else ()
        outputs = run_schedule(schedule, Library.PORTABLE, folder, [[call] for call in calls], sanitizers)
        expected = front_end.stored(samples, kind, after_silence=True)
        np.testing.assert_array_equal(np.stack([y for (y,) in outputs]).reshape(expected.shape), expected)


def test_item_17_conversion_of_micro_speech() -> None:
    front_end, samples = MicroFrontEnd(conversion=MICRO_SPEECH), signals(8000)["chirp"]
    numbers = np.rint(MicroFrontEnd().features(samples) * 25.6).astype(int)
    stored = front_end.stored(samples, TensorType(DType.INT8, (), Quant((0.1,), (-128,))))
    np.testing.assert_array_equal(stored, np.clip((numbers * 256 + 333) // 666 - 128, -128, 127))
    np.testing.assert_array_equal(front_end.features(samples), MicroFrontEnd().features(samples))
    with pytest.raises(UsageError, match="output 'features' is ui8, i8 or i16 was expected"):
        front_end.stored(samples, TensorType(DType.UINT8, ()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conversion": "none"}, "conversion is none, one of by_scale, micro_speech was expected"),
        ({"upper_band_limit": 9000}, "upper_band_limit is 9000, 125 to 8000 was expected"),
        ({"upper_band_limit": 8000}, "upper_band_limit is 8000, which leaves no frequency above it"),
        ({"gain_bits": 3}, "gain_bits is 3 and smoothing_bits 10, at least 15 and 3 were expected of gain control"),
        ({"even_smoothing": 2}, "even_smoothing is 2, 0 to 1 was expected"),
        ({"feature_scale": 0}, "feature_scale is 0, a number from 2"),
        ({"channels": 5000}, "channels is 5000, at most 1024 was expected"),
        (
            {"lower_band_limit": 1.0, "upper_band_limit": 2.0},
            "upper_band_limit is 2.0, more, for a frequency below it, was expected",
        ),
    ],
)
def test_item_17_settings_that_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=f"^front end microfrontend: {message}"):
        microfrontend(**change)


def test_item_17_networks_with_smaller_steps_than_features() -> None:
    kind = TensorType(DType.INT8, (), Quant((0.001,), (0,)))
    with pytest.raises(
        UsageError, match=r"^front end microfrontend: .* Change the front end, or the network's input\.$"
    ):
        microfrontend().before(_network(1, 40, kind))


@pytest.fixture(scope="module")
def wake_word(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that hears rising tones, and the front end it was made with."""
    file = tmp_path_factory.mktemp("wake") / "wake.tflite"
    file.write_bytes(wake_word_model())
    file.with_suffix(".json").write_text(str(FRONT_END))
    return file


@needs_library
@pytest.mark.parametrize("target", TARGETS)
def test_item_17_from_samples_to_detection(wake_word: Path, target: str) -> None:
    """One generated library, call by call, gives what LiteRT gives of the C library's features; it hears the word."""
    given = signal(100, has_word=True)
    calls = given.samples.reshape(-1, CALL)
    model = api.compile(wake_word, target, kernels="portable", front_end=wake_word.with_suffix(".json"))
    (port,) = model.compiled.graph.inputs
    assert (port.external.dtype, port.external.shape) == (DType.INT16, (CALL,))
    found = np.asarray(model.run(calls), np.uint8).reshape(-1)
    np.testing.assert_array_equal(found, _outside(wake_word, given.samples))
    assert given.word is not None
    (heard,) = np.nonzero(found > 128)
    assert len(heard) and given.word - 1 <= heard.min() <= heard.max() <= given.word + 3


def _outside(wake_word: Path, samples: Int16Array) -> Array:
    """LiteRT on features that the C library has made."""
    numbers = np.rint(_library_features(np.concatenate([np.zeros(320, np.int16), samples])) * 25.6).astype(int)
    stored = np.clip((numbers * 256 + 333) // 666 - 128, -128, 127).astype(np.int8)
    outputs = litert_calls(wake_word.read_bytes(), stored.reshape(-1, 1, ROWS, CHANNELS))
    return np.stack([output for (output,) in outputs]).reshape(-1)


def test_item_17_words_are_told_apart(wake_word: Path) -> None:
    """Of 10 signals that the network has not seen, with all inner tensors of the C against the references."""
    model = api.compile(wake_word, kernels="portable", front_end=FRONT_END, target="host")
    for seed in range(200, 210):
        given = signal(seed, has_word=seed % 2 == 0)
        found = np.asarray(model.run(given.samples.reshape(-1, CALL)), np.uint8)
        assert (found.max() > 128) == (given.word is not None), seed
    validated = model.validate(signal(300, has_word=True).samples.reshape(-1, CALL)[:20], samples=20)
    assert (validated.exact, validated.oracle) == (True, Oracle.SIMULATOR), validated.first_mismatch


def test_item_17_command_line(wake_word: Path, tmp_path: Path) -> None:
    front_end, out = wake_word.with_suffix(".json"), tmp_path / "out"
    ended = tinygen("compile", wake_word, "--front-end", front_end, "-o", out)
    assert ended.code == 0, ended.stderr
    assert "tg_microfrontend" in (out / "wake.c").read_text()
    ended = tinygen("validate", wake_word, "--front-end", front_end, "--against", "litert", "-t", "host")
    assert ended.code == 2 and "cannot run wake.tflite on samples, simulator was expected" in ended.stderr
    ended = tinygen("run", wake_word, "--front-end", tmp_path / "none.json", "-t", "host")
    assert ended.code == 2 and "none.json: No such file or directory" in ended.stderr
    other = tmp_path / "other.json"
    other.write_text(str(microfrontend(channels=32)))
    ended = tinygen("compile", wake_word, "--front-end", other, "-o", tmp_path / "more")
    assert ended.code == 2 and "gives 32 features per row, input 'features' has shape [1, 3, 40]" in ended.stderr


def _with_context(rows: Array, left: int, right: int, stride: int, pads: bool) -> Array:
    """As the operator's documentation says it, row by row."""
    found = []
    for anchor in range(0, len(rows), stride):
        beside = []
        for at in range(anchor - left, anchor + right + 1):
            inside = rows[min(max(at, 0), len(rows) - 1)]
            beside.append(np.zeros_like(inside) if pads and not 0 <= at < len(rows) else inside)
        found.append(np.concatenate(beside))
    return np.stack(found)


@needs_library
@pytest.mark.parametrize("type", ["int32", "float32"])
@pytest.mark.parametrize(
    ("left", "right", "stride", "pads", "divisor"),
    [(0, 0, 1, False, 1), (2, 1, 3, False, 5), (1, 3, 2, True, 1), (0, 0, 4, True, 3)],
)
def test_item_17_operator_in_the_file(
    left: int, right: int, stride: int, pads: bool, divisor: int, type: str, tmp_path: Path
) -> None:
    """AudioMicrofrontend of a signal, beside the C library: each call begins anew."""
    samples = signals(4000)["chirp"]
    numbers = np.rint(_library_features(samples) * 25.6).astype(np.int32)
    expected = _with_context(numbers, left, right, stride, pads)
    expected = expected // divisor if type == "int32" else expected.astype(np.float32) / np.float32(divisor)
    options = {
        "sample_rate": 16000, "window_size": 30, "window_step": 10, "num_channels": 40, "upper_band_limit": 7500.0,
        "lower_band_limit": 125.0, "smoothing_bits": 10, "even_smoothing": 0.025, "odd_smoothing": 0.06,
        "min_signal_remaining": 0.05, "enable_pcan": True, "pcan_strength": 0.95, "pcan_offset": 80.0, "gain_bits": 21,
        "enable_log": True, "scale_shift": 6, "left_context": left, "right_context": right, "frame_stride": stride,
        "zero_padding": pads, "out_scale": divisor,
    }  # fmt: skip
    writer = ModelWriter()
    x, y = writer.tensor("x", samples.shape, "int16"), writer.tensor("y", expected.shape, type)
    data = bytes(flexbuffers.Dumps(options))
    writer.operator("CUSTOM", [x], [y], custom_code="AudioMicrofrontend", custom_options=data)
    file = tmp_path / "audio.tflite"
    file.write_bytes(writer.finish([x], [y]))
    found = api.compile(file, kernels="portable", allow_float=True, target="host").run(np.stack([samples, samples]))
    np.testing.assert_array_equal(np.asarray(found).reshape(2, *expected.shape), np.stack([expected, expected]))
