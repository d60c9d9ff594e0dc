"""Operators with states of their own: TFLM's vectors, and TFLM itself on random layers."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import interpreter, needs_litert
from tests.support.recurrent_models import lstm_model, real_model, svdf_model
from tests.support.rooms import PACKAGE
from tests.support.shared import shared_file
from tests.support.stateful import assert_calls, compiled_model, run_two_instances
from tests.support.tflm import needs_tflm, tflm_calls
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen import api
from tinygen.errors import UnsupportedOperatorsError, UsageError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.types import Array
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify import reference
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

LSTM = (
    "lstm_s16",
    "lstm_s16_clip",
    "lstm_s16_tm_b2",
    "lstm_s8_b2",
    "lstm_s8_clip",
    "lstm_s8_noclip",
    "lstm_s8_pow15",
    "lstm_s8_sigmoid",
    "lstm_s8_tm_b2",
)
SVDF = ("svdf_s16", "svdf_s8_overflow", "svdf_s8_zp0", "svdf_s8_zp_neg50")
REAL_ALONE = ("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
BOARDS = ("mps2-an386", "mps3-an547")
ON_BOARDS = ("lstm_s16_clip", "lstm_s8_clip", "lstm_s8_tm_b2", "svdf_s16", "svdf_s8_overflow")
EVERYWHERE = ("host", *BOARDS)
RANDOM = [
    *(pytest.param(seed, "host", marks=requires_host_cc) for seed in range(12)),
    *(pytest.param(seed, board, marks=[pytest.mark.qemu, requires_qemu]) for seed in (4, 8) for board in BOARDS),
]


def _vectors(name: str) -> tuple[Path, Array, Array]:
    """A model of the golden vectors, its calls and the outputs."""
    with np.load(shared_file(f"golden/stateful/{name}.npz")) as data:
        return shared_file(f"golden/stateful/{name}.tflite"), data["x"], data["y"]


def _write(folder: Path, model: bytes) -> Path:
    file = folder / "recurrent.tflite"
    file.write_bytes(model)
    return file


@requires_host_cc
@pytest.mark.parametrize("name", [*LSTM, *SVDF])
def test_item_17_vectors(name: str) -> None:
    _assert_as_tflm(name, "host", calls=100)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", BOARDS)
@pytest.mark.parametrize("name", ON_BOARDS)
def test_item_17_vectors_on_boards(name: str, target: str) -> None:
    _assert_as_tflm(name, target, calls=4)


def _assert_as_tflm(name: str, target: str, calls: int) -> None:
    file, inputs, expected = _vectors(name)
    actual = api.compile(file, target, kernels="portable").run(inputs[:calls])
    np.testing.assert_array_equal(actual, expected[:calls].reshape(np.shape(actual)))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", ["tflm_keyword_scrambled_8bit", "tflm_keyword_scrambled_i16"])
def test_item_17_keyword_scrambled(name: str, target: str) -> None:
    """All outputs; of the first layer the newest states, as the outputs saturate."""
    model = api.compile(shared_file(f"models/open/{name}.tflite"), target, kernels="portable")
    with np.load(shared_file(f"golden/stateful/{name}.npz")) as data:
        calls, expected, newest = data["x"], data["y"], data["state0_newest"]
    np.testing.assert_array_equal(model.run(calls), expected.reshape(len(calls), 2))
    graph = model.compiled.imported
    layer = next(op for op in graph.ops if op.carried)
    runs = reference.evaluate_calls(graph, [[x] for x in calls])
    states = [arrays[layer.carried[0][1]].reshape(len(newest[0]), -1)[:, -1] for arrays in runs]
    np.testing.assert_array_equal(np.stack(states), newest)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", EVERYWHERE)
def test_item_17_mnist_lstm(target: str) -> None:
    """The outputs, and those of the layer itself."""
    model = api.compile(shared_file("models/open/tflm_mnist_lstm_int8.tflite"), target, kernels="portable")
    with np.load(shared_file("golden/stateful/tflm_mnist_lstm_int8.npz")) as data:
        calls, expected, sequence = data["x"], data["y"], data["lstm_out"]
    np.testing.assert_array_equal(model.run(calls), expected.reshape(len(calls), 10))
    graph = model.compiled.imported
    layer = next(op for op in graph.ops if op.carried)
    runs = reference.evaluate_calls(graph, [[x] for x in calls])
    np.testing.assert_array_equal(np.stack([arrays[layer.results[-1]] for arrays in runs]), sequence)


@needs_tflm
@pytest.mark.parametrize(("seed", "target"), RANDOM)
def test_item_17_random_lstm(seed: int, target: str, tmp_path: Path) -> None:
    """The same of long short-term memory, on int8 and int16."""
    model, shape, kind = lstm_model(seed)
    calls = np.random.default_rng(seed).integers(-128, 128, (8, *shape)).astype(kind)
    calls = calls * np.array(200, kind) if kind == "int16" else calls
    compiled = compiled_model(tmp_path, model, target, Kernels.PORTABLE)
    assert_calls(compiled, [[x] for x in calls], [[y] for y in tflm_calls(model, calls)], tmp_path)
    found = validate(compiled, [[x] for x in calls], samples=8, against=Oracle.SIMULATOR)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_tflm
@requires_host_cc
@pytest.mark.parametrize("seed", [1, 2])
def test_item_17_real_lstm(seed: int, tmp_path: Path) -> None:
    model, shape, _ = lstm_model(seed, is_real=True)
    calls = np.random.default_rng(1).normal(0, 1, (10, *shape)).astype(np.float32)
    options = Options(target="host", kernels=Kernels.PORTABLE, allow_float=True)
    compiled = compile_model(_write(tmp_path, model), options)
    actual = np.stack([output for (output,) in compiled.execute([[x] for x in calls]).outputs])
    expected = tflm_calls(model, calls)
    np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32), rtol=1e-4, atol=1e-5)
    found = validate(compiled, [[x] for x in calls], samples=10, against=Oracle.SIMULATOR)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_litert
@requires_host_cc
@pytest.mark.parametrize("operator", REAL_ALONE)
@pytest.mark.parametrize("seed", range(3))
def test_item_17_real_operators(operator: str, seed: int, tmp_path: Path) -> None:
    """Those that TFLM does not have, over calls that follow each other, as LiteRT has them."""
    model, shape = real_model(operator, seed, activation=(4, 1, 3)[seed] if operator.endswith("RNN") else 4)
    calls = [[x] for x in np.random.default_rng(seed).normal(0, 1, (4, *shape)).astype(np.float32)]
    options = Options(target="host", kernels=Kernels.PORTABLE, allow_float=True)
    compiled = compile_model(_write(tmp_path, model), options)
    runs, litert = compiled.execute(calls).outputs, interpreter(model)
    for (x,), outputs in zip(calls, runs, strict=True):
        litert.set_tensor(litert.get_input_details()[0]["index"], x)
        litert.invoke()
        for details, output in zip(litert.get_output_details(), outputs, strict=True):
            assert np.allclose(output, litert.get_tensor(details["index"]), rtol=1e-4, atol=1e-5)
    found = validate(compiled, calls, samples=4)
    assert (found.exact, found.oracle, found.mismatches) == (True, Oracle.LITERT, 0), found.first_mismatch


@requires_host_cc
def test_item_17_contexts_of_lstm(tmp_path: Path) -> None:
    file, calls, expected = _vectors("lstm_s8_tm_b2")
    compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE))
    run_two_instances(compiled, calls, expected, tmp_path)


@needs_tflm
@pytest.mark.parametrize(("seed", "target"), RANDOM)
def test_item_17_random_svdf(seed: int, target: str, tmp_path: Path) -> None:
    """Against TFLM's own interpreter, with all inner tensors of the generated C against the references."""
    model, shape = svdf_model(seed)
    calls = np.random.default_rng(seed).integers(-128, 128, (25, *shape)).astype(np.int8)
    compiled = compiled_model(tmp_path, model, target, Kernels.PORTABLE)
    assert_calls(compiled, [[x] for x in calls], [[y] for y in tflm_calls(model, calls)], tmp_path)
    found = validate(compiled, [[x] for x in calls], samples=25, against=Oracle.SIMULATOR)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@needs_tflm
@requires_host_cc
def test_item_17_real_svdf(tmp_path: Path) -> None:
    model, shape = svdf_model(3, is_real=True)
    calls = np.random.default_rng(1).normal(0, 1, (30, *shape)).astype(np.float32)
    compiled = compile_model(
        _write(tmp_path, model), Options(target="host", kernels=Kernels.PORTABLE, allow_float=True)
    )
    actual = np.stack([output for (output,) in compiled.execute([[x] for x in calls]).outputs])
    expected = tflm_calls(model, calls)
    np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32), rtol=1e-5, atol=1e-5)


@requires_host_cc
def test_item_17_contexts_of_svdf(tmp_path: Path) -> None:
    file, calls, expected = _vectors("svdf_s8_zp_neg50")
    compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE))
    run_two_instances(compiled, calls, expected, tmp_path)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (svdf_model(1, rank=7), "do not fit a rank of 7"),
        (lstm_model(1, activation=1)[:2], r"has activation 1, 4 \(TANH\) was expected"),
        (lstm_model(1, cell_scale=0.003)[:2], "has scale 0.003.*, 2\\^-20 to 2\\^-9 was expected"),
        (lstm_model(4, bias=1 << 62)[:2], r"bias 'bias 0' reaches 4611686018427387904, at most 2\*\*46 was"),
        (lstm_model(4, bias=-(1 << 63))[:2], r"bias 'bias 0' reaches 9223372036854775808, at most 2\*\*46"),
        (svdf_model(1, is_variable=False), "is no variable tensor of its own, one was expected"),
    ],
)
def test_what_is_refused(model: tuple[bytes, tuple[int, ...]], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError, match=message):
        import_tflite(_write(tmp_path, model[0]))


@needs_tflm
@requires_host_cc
@pytest.mark.parametrize("name", ["tflm_keyword_scrambled_8bit", "tflm_mnist_lstm_int8"])
def test_item_17_validate(name: str) -> None:
    """Consecutive calls, each operator and its states with TFLM's interpreter."""
    compiled = compile_model(
        shared_file(f"models/open/{name}.tflite"), Options(target="host", kernels=Kernels.PORTABLE)
    )
    with np.load(shared_file(f"golden/stateful/{name}.npz")) as data:
        calls = data["x"][:8]
    found = validate(compiled, [[x] for x in calls], samples=8)
    assert (found.exact, found.oracle, found.mismatches) == (True, "tflm", 0), found.first_mismatch
    with pytest.raises(UsageError, match=r"--against litert: cannot run .*, tflm or simulator was expected"):
        validate(compiled, samples=1, against=Oracle.LITERT)


def test_item_17_beside_tflm() -> None:
    """All figures of benchmarks/recurrent.md are below those of TFLite Micro with CMSIS-NN that stand beside them."""
    page = (PACKAGE.parent / "benchmarks" / "recurrent.md").read_text(encoding="utf-8")
    rows = [line.split("|")[4:-1] for line in page.splitlines() if "| -O " in line]
    assert len(rows) == 20
    for row in rows:
        numbers = [int(cell.replace(",", "")) for cell in row]
        for ours, theirs in zip(numbers[::2], numbers[1::2], strict=True):
            assert ours < theirs, row
