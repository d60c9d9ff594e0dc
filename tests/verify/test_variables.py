"""Variables of TFLite networks: kept from call to call, begun anew by a reset, and not moved without need."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.litert import needs_litert
from tests.support.shared import shared_file
from tests.support.stateful import assert_calls, litert_calls, run_two_instances, variables_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen import api
from tinygen.build.execute import Sample
from tinygen.errors import UnsupportedOperatorsError, UsageError
from tinygen.kernels.base import Library, Objective
from tinygen.ops.copy import Copy
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.schedule.schedule import Shift
from tinygen.verify.litert import LiteRT
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.validate import validate

VAD = "mww_v2_vad_streaming_int8"
_LIBRARIES = [Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis)]


def _write(folder: Path, model: bytes) -> Path:
    file = folder / "variables.tflite"
    file.write_bytes(model)
    return file


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["host", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("library", _LIBRARIES)
def test_item_17_microwakeword(target: str, library: Library) -> None:
    """120 calls as TFLM gives them."""
    model = api.compile(shared_file(f"models/open/{VAD}.tflite"), target, kernels=library.value)
    with np.load(shared_file(f"golden/stateful/{VAD}.npz")) as data:
        calls, expected = data["x"], data["y"]
    np.testing.assert_array_equal(model.run(calls), expected.reshape(len(calls), 1))


def test_item_17_small_plans_of_microwakeword() -> None:
    """Without scratch its first layer ran in the convolution of any shape, eight times as long as all others."""
    compiled = compile_model(
        shared_file(f"models/open/{VAD}.tflite"), Options(target="mps2-an386", objective=Objective.RAM)
    )
    layers = [call for call in compiled.schedule.calls if call.op.macs]
    assert compiled.schedule.arena_bytes == 1348 and len(layers) == 8
    assert not any(call.kernel.function == "tg_convolve_s8" for call in layers)


@requires_host_cc
def test_item_17_states_of_microwakeword() -> None:
    """Each variable is a ring, or a window whose kept rows are all new ones; nothing is copied beside."""
    compiled = compile_model(shared_file(f"models/open/{VAD}.tflite"), Options(target="host"))
    places = 3 * 4
    assert compiled.graph.state_bytes == 1120 + places
    assert not any(isinstance(op, Copy) for op in compiled.graph.ops)
    assert [step.bytes for step in compiled.schedule.steps if isinstance(step, Shift)] == [2 * 40]
    with np.load(shared_file(f"golden/stateful/{VAD}.npz")) as data:
        found = validate(compiled, [[x] for x in data["x"][:40]], samples=40)
    assert (found.exact, found.samples, found.oracle) == (True, 40, "litert"), found.first_mismatch


@requires_host_cc
@needs_litert
@pytest.mark.parametrize("kept_rows", [1, 3, 9])
def test_item_17_variables(kept_rows: int, tmp_path: Path) -> None:
    """All kinds of variables over many calls, in C and as the planner's interpreter has them."""
    model = variables_model(seed=kept_rows, kept_rows=kept_rows)
    compiled = compile_model(_write(tmp_path, model), Options(target="host", kernels=Kernels.PORTABLE))
    assert len(compiled.graph.states) == (4 if kept_rows == 1 else 5)  # a ring has a place beside its rows
    calls = np.random.default_rng(1).integers(-20, 21, (60, 1, 2, 1, 4)).astype(np.int8)
    samples: list[Sample] = [[x] for x in calls]
    assert_calls(compiled, samples, litert_calls(model, calls), tmp_path)
    found = validate(compiled, samples, samples=60)
    assert (found.exact, found.mismatches) == (True, 0), found.first_mismatch


@requires_host_cc
@needs_litert
def test_item_17_reset_and_contexts(tmp_path: Path) -> None:
    """A reset begins anew with the constants of the subgraph that is called once, for one context alone."""
    model = variables_model(seed=5)
    compiled = compile_model(_write(tmp_path, model), Options(target="host", kernels=Kernels.PORTABLE))
    calls = np.random.default_rng(2).integers(-20, 21, (40, 1, 2, 1, 4)).astype(np.int8)
    expected = np.stack([largest for largest, *_ in litert_calls(model, calls)])
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, calls, expected, tmp_path / "two")


@needs_litert
def test_item_17_validate_compares_first_values(tmp_path: Path) -> None:
    """With those that LiteRT reads, by name; where a pass has made a ring of a variable, outputs tell."""
    compiled = compile_model(
        _write(tmp_path, variables_model(seed=2)), Options(target="host", kernels=Kernels.PORTABLE)
    )
    graph, calls = compiled.schedule.graph, [np.full((1, 2, 1, 4), value, np.int8) for value in (5, -7)]
    named = {state.tensor.name for state in graph.states} & {"rows", "sum", "one", "other"}
    assert named >= {"sum", "one", "other"}
    for broken in (None, *graph.states):
        others = tuple(replace(own, start=own.initial + 1) if own is broken else own for own in graph.states)
        comparison, engine = OperatorComparison(replace(graph, states=others)), LiteRT(compiled.source)
        found = [one for x in calls for one in comparison.call([x], engine.run([x])) if one.mismatches]
        assert (broken is None) is not bool(found)
        if broken is not None and broken.tensor.name in named:
            assert [one.tensor for one in found] == [broken.tensor.name]


@requires_host_cc
@needs_litert
def test_item_17_a_thousand_calls(tmp_path: Path) -> None:
    model = variables_model(seed=6)
    calls = np.random.default_rng(3).integers(-2, 3, (1000, 1, 2, 1, 4)).astype(np.int8) - 3
    actual = api.compile(_write(tmp_path, model), kernels="portable", target="host").run(calls)
    expected = litert_calls(model, calls)
    for index, output in enumerate(actual):
        np.testing.assert_array_equal(output, np.concatenate([outputs[index] for outputs in expected]))


@pytest.mark.parametrize("option", [{"stream": "time"}, {"input": "streamed"}, {"results": "stored"}])
def test_options_that_need_a_network_without_memory(option: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keeps 4 states from call to call, a model without any was expected"):
        api.compile(_write(tmp_path, variables_model(1)), **option, target="host")


def test_commands_that_need_a_network_without_memory(tmp_path: Path) -> None:
    file, data = _write(tmp_path, variables_model(1)), tmp_path / "x.npy"
    np.save(data, np.zeros((4, 1, 2, 1, 4), np.int8))
    for arguments, purpose in (
        (("simulate", file, "--data", data), "for the simulation of samples"),
        (("compile", file, "-o", tmp_path / "out", "--calibrate", data), "for calibration"),
    ):
        ended = tinygen(*arguments)
        assert ended.code == 3 and f"a model without any was expected {purpose}." in ended.stderr, ended.stderr


def test_only_states_that_outputs_depend_on(tmp_path: Path) -> None:
    file = _write(tmp_path, variables_model(1))
    ended = tinygen("inspect", file, "--stop-at", "d", "--json")
    assert ended.code == 0
    compiled = api.compile(file, stop_at="d", target="host").compiled
    assert [state.tensor.name for state in compiled.graph.states] == ["one", "other"]


def _broken(what: str) -> bytes:
    """x, a variable and its assignment, with one thing wrong."""
    model = ModelWriter()
    x = model.tensor("x", (1, 4), "int8", scale=0.5)
    value = model.tensor("value", (1, 4), "int8", scale=0.5)
    y = model.tensor("y", (1, 4), "int8", scale=0.25 if what == "type" else 0.5)
    handle = model.tensor("handle", (), "resource")
    if what == "subgraph":
        model.operator("CALL_ONCE", [], [], init_subgraph_index=7)
    model.operator("VAR_HANDLE", [], [handle], shared_name="v")
    model.operator("READ_VARIABLE", [x if what == "handle" else handle], [value])
    if what == "late":
        model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    model.operator("ADD", [x, handle if what == "resource" else value], [y])
    model.operator("ASSIGN_VARIABLE", [handle, y], [])
    model.next_subgraph([x], [y])
    return model.finish([], [])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("type", "the same type was expected"),
        ("subgraph", "calls subgraph 7, 1 to 1 were expected"),
        ("handle", "input 0 is no handle of a variable, one was expected"),
        ("late", "stands behind a READ_VARIABLE, before all of them was expected"),
        ("resource", "tensor 'handle' has type RESOURCE"),
    ],
)
def test_what_is_refused(what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError, match=message):
        compile_model(_write(tmp_path, _broken(what)), Options(target="host"))
