"""tinygen from Python."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygen
from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.ir.types import Array


@pytest.fixture(scope="module")
def model() -> tinygen.Model:
    return tinygen.compile(DIGITS)


@pytest.fixture(scope="module")
def images() -> Array:
    loaded: Array = np.load(DIGITS_DATA)["in0"]
    return loaded


@needs_litert
def test_run_computes_what_litert_computes(model: tinygen.Model, images: Array) -> None:
    outputs = model.run(images[:4])
    expected = [run_reference(DIGITS, [image[np.newaxis]]).outputs[0] for image in images[:4]]
    np.testing.assert_array_equal(outputs, np.concatenate(expected))


def test_run_takes_one_sample_many_lists_dictionaries_and_files(
    model: tinygen.Model,
    images: Array,
) -> None:
    both = model.run(images[:2])
    assert isinstance(both, np.ndarray)
    assert both.shape == (2, 10)
    for x in (images[:1], images[:1].tolist(), images[:1].reshape(1, 64), {"in0": images[:1]}, images[:1, np.newaxis]):
        np.testing.assert_array_equal(model.run(x), both[:1])
    with_file = model.run(DIGITS_DATA)
    assert isinstance(with_file, np.ndarray)
    np.testing.assert_array_equal(with_file[:2], both)


def test_wrong_inputs_are_refused(model: tinygen.Model) -> None:
    with pytest.raises(UsageError) as caught:
        model.run(np.zeros((2, 3), np.int8))
    assert str(caught.value) == (
        "digits_int8: array 'in0' has shape [2, 3], [samples, 8, 8, 1] was expected for input "
        "'serving_default_image:0'. Reshape it."
    )
    with pytest.raises(
        UsageError, match=r"array 'in0', sample 0 holds 0\.5, a whole number of -128\.\.127 was expected"
    ):
        model.run(np.full((1, 8, 8, 1), 0.5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "--name: is '', a C identifier was expected "),
        ({"recompute": 2}, "--recompute: is '2', a share of 0% to 100%, "),
        ({"max_drop": float("nan")}, "--max-drop: is nan, a number from 0 was expected."),
        ({"kernels": "portable", "cmsis_nn": "x"}, "--kernels portable, --cmsis-nn: are given both, one was expected."),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        tinygen.compile(DIGITS, **options)
    assert str(caught.value).startswith(message)


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    writer = ModelWriter()
    scale = {"scale": 1.0, "zero_point": 0}
    first, second, total, larger = (writer.tensor(name, (1, 4), **scale) for name in ("a", "b", "sum", "max"))  # type: ignore[arg-type]
    writer.operator("ADD", [first, second], [total])
    writer.operator("MAXIMUM", [first, second], [larger])
    (tmp_path / "two.tflite").write_bytes(writer.finish([first, second], [total, larger]))
    two = tinygen.compile(tmp_path / "two.tflite")
    a, b = np.array([[1, 2, 3, 4]], np.int8), np.array([[9, -9, 100, 127]], np.int8)
    for x in ([a, b], {"a": a, "b": b}, {"in1": b, "in0": a}):
        total_values, larger_values = two.run(x)
        np.testing.assert_array_equal(total_values, [[10, -7, 103, 127]])
        np.testing.assert_array_equal(larger_values, [[9, 2, 100, 127]])
    with pytest.raises(UsageError) as caught:
        two.run([a])
    assert str(caught.value) == (
        "inputs: 1 is given, 2 were expected (a, b). "
        "Give a list of arrays, or a dictionary with the names of the inputs."
    )


def test_an_array_of_the_inputs_shape_is_one_sample(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (2, 4), scale=1.0, zero_point=0) for name in ("x", "y"))
    writer.operator("ABS", [x], [y])
    (tmp_path / "pair.tflite").write_bytes(writer.finish([x], [y]))
    pair = tinygen.compile(tmp_path / "pair.tflite")
    values = np.array([[1, -2, 3, -4], [-5, 6, -7, 8]], np.int8)
    np.testing.assert_array_equal(pair.run(values), np.abs(values)[np.newaxis])
    np.testing.assert_array_equal(pair.run(np.stack([values, -values])), np.abs(np.stack([values, values])))


def test_report(model: tinygen.Model) -> None:
    assert (model.report.arena_bytes, model.report.target, model.report.extra_macs) == (1536, "host", 0)
    assert "1,536 bytes" in str(model.report)


@needs_litert
def test_validate(model: tinygen.Model, images: Array) -> None:
    found = model.validate(images[:3])
    assert (found.exact, found.samples, found.mismatches) == (True, 3, 0)
    assert model.validate(samples=1, against="simulator").samples == 1


def test_write(model: tinygen.Model, tmp_path: Path) -> None:
    assert model.write(tmp_path / "out") == tmp_path / "out"
    for file in model.report.files:
        assert (tmp_path / "out" / file).is_file()
    model.write(str(tmp_path / "out"), project="cmake")
    assert (tmp_path / "out" / "CMakeLists.txt").is_file()


def test_options_are_those_of_the_command_line() -> None:
    small = tinygen.compile(str(DIGITS), target="mps2-an386", ram="8K", name="digits", kernels="portable", cc_opt="s")
    assert (small.report.name, small.report.library, small.report.arena_limit_bytes) == ("digits", "portable", 8192)
    with pytest.raises(DoesNotFitError, match="the arena needs 1536 bytes of RAM, 1024 are available"):
        tinygen.compile(DIGITS, ram=1024, split=False)
    with pytest.raises(UsageError, match="--kernels: is 'fast', one of auto, cmsis-nn, portable, native was expected"):
        tinygen.compile(DIGITS, kernels="fast")


@pytest.mark.qemu
@requires_qemu
def test_a_board_computes_what_the_host_computes(model: tinygen.Model, images: Array) -> None:
    board = tinygen.compile(DIGITS, target="mps2-an386", ram="8K")
    np.testing.assert_array_equal(board.run(images[:3]), model.run(images[:3]))


def test_importing_tinygen_loads_nothing_heavy() -> None:
    program = "import sys, tinygen; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"numpy", "tinygen.pipeline", "typer"}.isdisjoint(done.stdout.split())
    assert not hasattr(tinygen, "decompile")


def test_other_systems_are_refused_at_once() -> None:
    code = "import os; os.name = 'nt'; import tinygen"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: tinygen needs Linux or macOS: on Windows, install it in the Windows Subsystem for Linux (WSL)"
    )
