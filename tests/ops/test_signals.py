"""Operators on signals: TFLite Micro's vectors of its audio preprocessor, and its interpreter on all operators."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.support.shared import shared_file
from tests.support.signal_models import SignalModel, signal_model
from tests.support.tflm import needs_tflm, tflm_sequence
from tests.support.tools import requires_qemu
from tinygen import api
from tinygen.build.execute import execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.frontends.tflite.flexbuffer import read_options
from tinygen.frontends.tflite.node import UnsupportedError
from tinygen.ir.types import Array
from tinygen.ops.signal_arithmetic import log_table, square_roots
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify import reference
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

PREPROCESSOR = "models/open/tflm_audio_preprocessor_int8.tflite"
VECTORS = "golden/stateful/audio_preprocessor_int8.npz"
TARGETS = [
    pytest.param("host", id="host-sanitized"),
    pytest.param("mps2-an386", id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]


def _execute(compiled: Compiled, calls: Sequence[Sequence[Array]], folder: Path) -> list[list[Array]]:
    is_host = compiled.board.is_host
    sanitizers = [Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if is_host else []
    image = compiled.build(folder, Measure.INSTRUCTIONS, sanitizers)
    return [list(outputs) for outputs in execute(image, compiled.schedule, calls).outputs]


@pytest.mark.parametrize("target", TARGETS)
def test_item_17_audio_preprocessor(target: str, tmp_path: Path) -> None:
    """Frames of silence, noise and full scale, as TFLite Micro gives them."""
    with np.load(shared_file(VECTORS)) as data:
        count = 100 if target == "host" else 4
        calls, expected = data["x"][:count], data["y"][:count]
    compiled = compile_model(shared_file(PREPROCESSOR), Options(target=target, kernels=Kernels.PORTABLE))
    outputs = _execute(compiled, [[x] for x in calls], tmp_path)
    np.testing.assert_array_equal(np.stack([y for (y,) in outputs]).reshape(expected.shape), expected)


@needs_tflm
def test_item_17_audio_preprocessor_validates() -> None:
    """By default with TFLite Micro, operator by operator: LiteRT has none of these."""
    with np.load(shared_file(VECTORS)) as data:
        found = api.compile(shared_file(PREPROCESSOR), kernels="portable", target="host").validate(
            data["x"][:8], samples=8
        )
    assert (found.exact, found.oracle) == (True, Oracle.TFLM), found.first_mismatch


@needs_tflm
@pytest.mark.parametrize("target", TARGETS)
def test_item_17_signal_operators(target: str, tmp_path: Path) -> None:
    """All of them over consecutive calls, exact but for float32; results that are not valid are left out."""
    model = signal_model()
    data, calls = model.finish(), model.calls(12, seed=len(target))
    file = tmp_path / "signals.tflite"
    file.write_bytes(data)
    compiled = compile_model(file, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))
    expected = tflm_sequence(data, calls, len(model.outputs))
    imported = [reference.outputs(compiled.imported, a) for a in reference.evaluate_calls(compiled.imported, calls)]
    for found in (imported, _execute(compiled, calls, tmp_path)):
        _assert_same(model, found, expected, [port.name for port in compiled.graph.outputs])


def _assert_same(
    model: SignalModel, found: Sequence[Sequence[Array]], expected: Sequence[Sequence[Array]], names: Sequence[str]
) -> None:
    seen = set()
    for call, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if number in model.valid and not theirs[model.valid[number]]:
                continue
            seen.add(number)
            if one.dtype == np.float32:
                distance = np.abs(one.astype(np.float32) - other.reshape(one.shape).astype(np.float32))
                assert distance.max() < 1e-4, names[number]
            else:
                np.testing.assert_array_equal(one, other.reshape(one.shape), f"{names[number]}, call {call}")
    assert len(seen) == len(names), "each is valid once"


def test_item_17_signal_operators_validate(tmp_path: Path) -> None:
    """States and inner tensors of the C, against the references."""
    model = signal_model()
    file = tmp_path / "signals.tflite"
    file.write_bytes(model.finish())
    compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE, allow_float=True))
    found = validate(compiled, model.calls(6, seed=1), samples=6, against=Oracle.SIMULATOR)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


def test_item_17_square_roots_are_rounded() -> None:
    """By exact integers: at most 65535 for what fits 32 bits."""
    numbers = [
        0,
        1,
        2,
        3,
        6,
        7,
        12,
        13,
        65534 * 65535,
        65535 * 65536,
        2**32 - 1,
        2**32,
        (2**32 - 1) ** 2 + 5,
        2**64 - 1,
    ]
    numbers += [int(n) ** 2 + d for n in np.random.default_rng(0).integers(2**16, 2**32, 200) for d in (-1, 0, 1)]
    expected = [round_root(number) for number in numbers]
    np.testing.assert_array_equal(square_roots(np.array(numbers, np.uint64)), expected)


def round_root(number: int) -> int:
    """(root - 1/2)^2 = root^2 - root + 1/4 <= number < (root + 1/2)^2."""
    root = int(np.floor(np.sqrt(np.float64(number))))
    root = next(n for n in range(max(root - 3, 0), root + 5) if n * n <= number < (n + 1) * (n + 1))
    rounded = root + (number - root * root > root)
    return min(rounded, 65535 if number < 2**32 else 2**32 - 1)


def test_item_17_logarithms_stand_in_a_table() -> None:
    """Some of TFLite Micro's numbers."""
    table = log_table()
    assert [int(table[i]) for i in (0, 1, 2, 57, 127, 128)] == [0, 224, 442, 5641, 142, 0]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("Rfft", {"fft_length": 28}, "a transform of 28 numbers, an even number from 4 to 32768 without prime"),
        ("Rfft", {}, "has no option fft_length (T), a number was expected"),
        ("Delay", {"delay_length": 0}, "delays [8] by 0, rows by 1 to 32767 were expected"),
        ("Framer", {"frame_size": 4, "frame_step": 3, "prefill": True}, "cuts rows of [8] into frames of 4 every 3"),
        ("Framer", {"frame_size": 1, "frame_step": 1, "prefill": True}, "cuts 2000 frames a call, at most 1024 were"),
        ("Window", {"shift": 32}, "products are shifted by 32 bits, 0 to 31 were expected"),
    ],
)
def test_item_17_options_that_are_refused(name: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    model = SignalModel()
    x = model.input((2000 if change.get("frame_size") == 1 else 8,), "int16")
    results = [((8,), "int16"), ((), "bool")] if name == "Framer" else [((8,), "int16")]
    inputs = [x, model.constant([1] * 8)] if name == "Window" else [x]
    model.add(name, inputs, *results, **({"T": 7} | change if name == "Rfft" else change))
    file = tmp_path / "refused.tflite"
    file.write_bytes(model.finish())
    with pytest.raises(UnsupportedOperatorsError) as caught:
        import_model(file)
    assert message in str(caught.value)


def test_item_17_options_are_flexbuffers() -> None:
    """As the format's own library writes them; damaged ones are refused, whatever byte is wrong."""
    values = {"a": 1, "bb": -300, "real": 0.5, "large": 1 << 40, "truth": True, "text": "x", "double": 0.1}
    data = bytes(flexbuffers.Dumps(values))
    found = read_options(data)
    assert dict(found.numbers) == {name: value for name, value in values.items() if name != "text"}
    with pytest.raises(UnsupportedError, match="option large is 1099511627776, a whole number of 32 bits was expected"):
        found.integer("large")
    rng = np.random.default_rng(0)
    for length in range(len(data)):
        _is_read_or_refused(data[:length])
    for _ in range(500):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] = rng.integers(256)
        _is_read_or_refused(bytes(damaged))


def _is_read_or_refused(data: bytes) -> None:
    try:
        read_options(data)
    except UnsupportedError as error:
        assert "no FlexBuffer with a map of numbers" in str(error)
