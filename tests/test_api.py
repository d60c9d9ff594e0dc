"""tinygen from Python."""

import json
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tinygen
from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.command_line import tinygen as command
from tests.support.litert import needs_litert, run_reference
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.build.desk import Desk
from tinygen.calib.request import CalibrationRequest
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.ir.types import Array
from tinygen.option import options_of
from tinygen.options import Options
from tinygen.report.result import Reported, Result
from tinygen.tasks.inspection import InspectionRequest
from tinygen.tasks.measuring import BenchRequest
from tinygen.tasks.quantization import QuantizationRequest
from tinygen.tasks.running import RunRequest
from tinygen.tasks.validation import ValidationRequest
from tinygen.verify.oracle import Oracle

OUTPUT = "StatefulPartitionedCall_1:0"


@pytest.fixture(scope="module")
def model() -> tinygen.Model:
    return tinygen.compile(DIGITS, target="host")


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
        tinygen.compile(DIGITS, **options, target="host")
    assert str(caught.value).startswith(message)


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    writer = ModelWriter()
    scale = {"scale": 1.0, "zero_point": 0}
    first, second, total, larger = (writer.tensor(name, (1, 4), **scale) for name in ("a", "b", "sum", "max"))  # type: ignore[arg-type]
    writer.operator("ADD", [first, second], [total])
    writer.operator("MAXIMUM", [first, second], [larger])
    (tmp_path / "two.tflite").write_bytes(writer.finish([first, second], [total, larger]))
    two = tinygen.compile(tmp_path / "two.tflite", target="host")
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
    pair = tinygen.compile(tmp_path / "pair.tflite", target="host")
    values = np.array([[1, -2, 3, -4], [-5, 6, -7, 8]], np.int8)
    np.testing.assert_array_equal(pair.run(values), np.abs(values)[np.newaxis])
    np.testing.assert_array_equal(pair.run(np.stack([values, -values])), np.abs(np.stack([values, values])))


def test_report(model: tinygen.Model) -> None:
    assert (model.report.arena_bytes, model.report.target, model.report.extra_macs) == (768, "host", 0)
    assert "768 bytes" in str(model.report)


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
        tinygen.compile(DIGITS, ram=1024, split=False, target="host")
    with pytest.raises(UsageError, match="--kernels: is 'fast', one of auto, cmsis-nn, portable, native was expected"):
        tinygen.compile(DIGITS, kernels="fast", target="host")


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


def test_inspect_says_what_the_command_says(model: tinygen.Model) -> None:
    found = tinygen.inspect(DIGITS, ops=True, target="host")
    assert (found.fits, found.arena_bytes) == (True, model.report.arena_bytes)
    assert found.to_dict() == command("inspect", DIGITS, "-t", "host", "--ops", "--json").document
    assert f"{found}\n" == command("inspect", DIGITS, "-t", "host", "--ops").stdout
    small = tinygen.inspect(DIGITS, ram="1K", split=False, target="host")
    assert (small.fits, small.arena_limit_bytes) == (False, 1024)


def test_what_is_not_supported_is_listed(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4), "float32"), writer.tensor("y<i>", (1, 4), "float32")
    writer.operator("CUSTOM", [x], [y])
    (tmp_path / "custom.tflite").write_bytes(writer.finish([x], [y]))
    found = tinygen.inspect(tmp_path / "custom.tflite", target="host")
    assert [each.name for each in found.unsupported] == ["y<i>"]
    assert "1 operator is not supported" in repr(found)
    assert "y&lt;i&gt;" in found._repr_html_()
    assert "<i>" not in found._repr_html_()


def test_run_gives_arrays_by_name(model: tinygen.Model, images: Array) -> None:
    found = tinygen.run(DIGITS, images[:3], target="host")
    (scores,) = found.outputs.values()
    np.testing.assert_array_equal(scores, model.run(images[:3]))
    assert (found.samples, found.accuracy) == (3, None)
    assert found.to_dict()["outputs"] == {OUTPUT: scores.tolist()}
    with_labels = tinygen.run(DIGITS, DIGITS_DATA, target="host")
    assert with_labels.accuracy is not None
    assert with_labels.samples == 364
    np.testing.assert_array_equal(
        tinygen.run(DIGITS, seed=3, target="host").outputs[OUTPUT],
        tinygen.run(DIGITS, seed=3, target="host").outputs[OUTPUT],
    )


@needs_litert
def test_validate_compares(images: Array) -> None:
    found = tinygen.validate(DIGITS, images[:2], per_layer=True, target="host")
    assert (found.exact, found.samples, found.oracle, len(found.layers)) == (True, 2, Oracle.LITERT, 10)
    assert tinygen.validate(DIGITS, samples=1, against="simulator", target="host").samples == 1
    with pytest.raises(UsageError, match="--samples: is 0, 1 to 1000000 was expected"):
        tinygen.validate(DIGITS, samples=0, target="host")
    with pytest.raises(UsageError, match="smaples: is no option"):
        tinygen.validate(DIGITS, smaples=1, target="host")


@pytest.mark.qemu
@requires_qemu
def test_bench_measures() -> None:
    found = tinygen.bench(DIGITS, "mps2-an386", per_op=True)
    document = command("bench", DIGITS, "-t", "mps2-an386", "--per-op", "--json").document
    assert found.to_dict() == document
    assert found.instructions is not None


def test_networks_are_bytes_and_onnx_models_too(images: Array, model: tinygen.Model, tmp_path: Path) -> None:
    same = tinygen.compile(DIGITS.read_bytes(), name="digits", target="host")
    np.testing.assert_array_equal(same.run(images[:1]), model.run(images[:1]))
    assert same.write(tmp_path / "out").joinpath("digits.h").is_file()
    network = relu_network()
    for given in (network, network.SerializeToString()):
        np.testing.assert_array_equal(
            tinygen.compile(given, allow_float=True, target="host").run([[-1.0, 2.0]]), [[0.0, 2.0]]
        )
    with pytest.raises(UsageError, match=r"^model: is of type int; a path, bytes, an onnx\.ModelProto, a pair"):
        tinygen.compile(3, target="host")


def test_calibrate_and_quantize_take_arrays(tmp_path: Path) -> None:
    data = np.random.default_rng(0).uniform(-1, 1, (20, 1, 2)).astype(np.float32)
    table = tinygen.calibrate(relu_network(), data)
    assert table.report.to_dict()["samples"] == 20
    assert "20" in repr(table)
    file = table.write(tmp_path / "relu.ctable.json")
    by_table = tinygen.compile(relu_network(), ctable=file, target="host")
    quantized = tinygen.quantize(relu_network(), data)
    again = tinygen.compile(quantized.content, target="host")
    assert by_table.report.arena_bytes == again.report.arena_bytes
    assert quantized.write(tmp_path / "relu.onnx").read_bytes() == quantized.content
    tflite = tinygen.quantize(relu_network(), {"x": data}, format="tflite")
    assert tflite.content[4:8] == b"TFL3"
    with pytest.raises(UsageError, match="--data, --ctable: exactly one of them was expected"):
        tinygen.quantize(relu_network())


@pytest.mark.parametrize(
    ("function", "requests"),
    [
        ("inspect", (InspectionRequest, Options)),
        ("run", (RunRequest, Desk, Options)),
        ("validate", (ValidationRequest, Desk, Options)),
        ("bench", (BenchRequest, Desk, Options)),
        ("calibrate", (CalibrationRequest,)),
        ("quantize", (QuantizationRequest,)),
    ],
)
def test_functions_have_the_options_of_their_commands(function: str, requests: tuple[type, ...]) -> None:
    known = {keyword for request in requests for keyword in options_of(request)}
    own = {"bench": set(), "calibrate": {"errors"}, "quantize": {"format"}}.get(function, set())
    assert set(signature(getattr(tinygen, function)).parameters) - {"model", "data"} == (known | own) - {"data"}


def test_results_are_short_lines_in_a_session(model: tinygen.Model) -> None:
    found: list[Result | Reported] = [model, model.report, tinygen.inspect(DIGITS, ops=True, target="host")]
    found.append(tinygen.bench(DIGITS, per_op=True, target="host"))
    found.append(tinygen.validate(DIGITS, samples=1, against="simulator", per_layer=True, target="host"))
    for result in found:
        assert len(repr(result)) < 160, result
        assert "\n" not in repr(result)
        page = result._repr_html_()
        assert page.startswith("<table>")
        assert json.dumps(result.to_dict())


def relu_network() -> onnx.ModelProto:
    """A float network of one operator."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def test_functions_that_are_not_loaded_yet_are_completed() -> None:
    code = "import tinygen; print(sorted(set(tinygen.__all__) - set(dir(tinygen))), 'compile' in vars(tinygen))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[] False\n"
