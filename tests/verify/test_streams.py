"""Streams on the host and on boards: the same outputs as the sliding window, on real data and on random networks."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.boards import resized
from tests.support.causal import causal_graphs, signal
from tests.support.command_line import tinygen
from tests.support.models import model_file
from tests.support.schedules import run_schedule
from tests.support.shared import shared_file
from tests.support.stateful import run_with_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.build.execute import Sample
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.ir.graph import Graph, Values
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.fully_connected import FullyConnected
from tinygen.options import Kernels, Options
from tinygen.passes.streaming.step import stream
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.plan import plan
from tinygen.targets import load
from tinygen.verify.oracle import Oracle
from tinygen.verify.reference import evaluate_calls
from tinygen.verify.signal import load_calls
from tinygen.verify.validate import validate

WAKE_WORD = "str_ww_ref_model"
_WINDOW = 30
_MOST_MACS, _MOST_BYTES = 60_000, 4_200  # of one call


def _compiled(target: str, library: Library, objective: Objective = Objective.RAM) -> Compiled:
    options = Options(target=target, kernels=Kernels(library.value), objective=objective, stream="time")
    return compile_model(model_file(WAKE_WORD), options)


def _spectrogram() -> tuple[list[Sample], Array]:
    """The inputs of all calls, and the reference activations of the window that ends with each from the 30th on."""
    with np.load(shared_file("eval/sww01.npz")) as data:
        columns, activations = data["spec_q"], data["activations_ref"]
    return [[column.reshape(1, 1, 1, -1)] for column in columns], activations


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["host", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("library", [Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis)])
def test_wake_word(target: str, library: Library) -> None:
    """LiteRT's activations are those of a fully connected layer that rounds once instead of twice: two of the 282
    differ by that, in the window's outputs as in the stream's."""
    compiled = _compiled(target, library)
    calls, activations = _spectrogram()
    assert compiled.graph.macs <= _MOST_MACS and compiled.schedule.arena_bytes <= _MOST_BYTES
    found = validate(compiled, calls, samples=len(activations))
    assert (found.exact, found.samples, found.max_abs_diff) == (True, 282, 0), found.first_mismatch
    outputs = np.concatenate([output for (output,) in compiled.execute(calls).outputs])[_WINDOW - 1 :]
    assert np.count_nonzero((outputs != activations).any(axis=1)) == 2
    assert np.abs(outputs.astype(int) - activations).max() == 2


def test_reference_activations_round_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs above is the rounding alone: with LiteRT's, the stream gives all 282 reference activations."""

    def rounded_once(op: FullyConnected, values: Values) -> tuple[Array, ...]:
        centered = values[op.input].astype(np.int64).reshape(1, -1) - op.input.type.zero_point
        assert op.bias is not None
        sums = centered @ values[op.weights].astype(np.int64).T + values[op.bias].astype(np.int64)
        real = sums * (op.input.type.scale * op.weights.type.scale / op.output.type.scale)
        stored = np.sign(real) * np.floor(np.abs(real) + 0.5) + op.output.type.zero_point
        return (np.clip(stored, -128, 127).astype(np.int8),)

    monkeypatch.setattr(FullyConnected, "evaluate", rounded_once)
    step = _compiled("host", Library.PORTABLE).graph
    calls, activations = _spectrogram()
    outputs = [found[step.output_tensors[0]] for found in evaluate_calls(step, calls)]
    np.testing.assert_array_equal(np.concatenate(outputs)[_WINDOW - 1 :], activations)


@requires_host_cc
@settings(max_examples=8, derandomize=True)
@given(graph=causal_graphs(), objective=st.sampled_from(Objective))
def test_random_networks_in_c(graph: Graph, objective: Objective) -> None:
    """The generated C call by call, its state in the arena, against the references of the whole window."""
    try:
        step = stream(graph)
    except UnsupportedModelError:
        return
    assert step.stream is not None
    columns = signal(graph, step.stream, results=2, seed=3)
    calls = [[part] for part in columns.reshape(-1, *step.input_tensors[0].shape)]
    expected = [[found[tensor] for tensor in step.output_tensors] for found in evaluate_calls(step, calls)]
    host = load("host")
    schedule = plan(step, host, Toolbox(Library.PORTABLE, host.isa, objective))
    with tempfile.TemporaryDirectory() as folder:
        actual = run_schedule(schedule, Library.PORTABLE, Path(folder), calls)
    for given_, wanted in zip(actual, expected, strict=True):
        for one, other in zip(given_, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def _pooled(boundary: str) -> bytes:
    """x [1, 3, 12, 2] [-> QUANTIZE] -> MAX_POOL_2D -> AVERAGE_POOL_2D of the last columns -> y."""
    model = ModelWriter()
    inner: dict[str, float | int] = {"scale": 0.1, "zero_point": 2}
    x = model.tensor("x", (1, 3, 12, 2), boundary, **(inner if boundary == "int8" else {}))  # type: ignore[arg-type]
    q = x if boundary == "int8" else model.tensor("q", (1, 3, 12, 2), **inner)  # type: ignore[arg-type]
    largest = model.tensor("largest", (1, 2, 10, 2), **inner)  # type: ignore[arg-type]
    y = model.tensor("y", (1, 1, 4, 2), **inner)  # type: ignore[arg-type]
    if boundary != "int8":
        model.operator("QUANTIZE", [x], [q])
    model.operator("MAX_POOL_2D", [q], [largest], padding=1, filter_height=2, filter_width=3, stride_h=1, stride_w=1)
    model.operator(
        "AVERAGE_POOL_2D", [largest], [y], padding=1, filter_height=2, filter_width=4, stride_h=1, stride_w=2
    )
    return model.finish([x], [y])


@requires_host_cc
@pytest.mark.parametrize("boundary", ["int8", "float32"])
def test_along_the_width(boundary: str, tmp_path: Path) -> None:
    """Two columns a call; signals in files have the input's axes, with or without the first, or columns first."""
    file = tmp_path / "pooled.tflite"
    file.write_bytes(_pooled(boundary))
    options = Options(target="host", kernels=Kernels.PORTABLE, stream="width")
    compiled = compile_model(file, options)
    stream_ = compiled.graph.stream
    assert stream_ is not None and (stream_.axis, stream_.columns, stream_.warmup_calls) == (2, 2, 6)
    assert compiled.graph.inputs[0].external.shape == (1, 2, 3, 2)
    found = validate(compiled, samples=7)
    assert (found.exact, found.samples) == (True, 7), found.first_mismatch
    signal_ = np.random.default_rng(1).integers(-128, 128, (1, 3, 40, 2)).astype(boundary)
    columns_first = np.moveaxis(signal_[0], 1, 0)
    loaded = []
    for name, array in (("all", signal_), ("three", signal_[0]), ("columns", columns_first.reshape(40, 6))):
        np.save(tmp_path / f"{name}.npy", array)
        loaded.append(load_calls(tmp_path / f"{name}.npy", compiled.imported, compiled.graph))
    for calls in loaded:
        assert len(calls) == 20
        np.testing.assert_array_equal(np.concatenate([call[0] for call in calls], axis=1)[0], columns_first)
    assert validate(compiled, loaded[0], samples=15).exact


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 3, 41, 2), "holds [41] columns, a multiple of 2 was expected, the same for each input"),
        ((1, 3, 0, 2), "holds [0] columns, a multiple of 2 was expected, the same for each input"),
        ((1, 4, 40, 2), "array 'in0' has shape [1, 4, 40, 2], [1, 3, columns, 2] was expected for input 'x'."),
    ],
)
def test_signals_that_do_not_fit(shape: tuple[int, ...], message: str, tmp_path: Path) -> None:
    file, data = tmp_path / "pooled.tflite", tmp_path / "signal.npy"
    file.write_bytes(_pooled("int8"))
    np.save(data, np.zeros(shape, np.int8))
    ended = tinygen("run", file, "--stream", "width", "--kernels", "portable", "--input", data, "-t", "host")
    assert ended.code == 2 and message in ended.stderr


def test_reports_say_what_a_call_is() -> None:
    model = model_file(WAKE_WORD)
    stream_ = {"axis": 1, "columns_per_call": 1, "window_columns": 30, "warmup_steps": 30, "state_bytes": 3552}
    for command in (("inspect",), ("inspect", "--curve", "-O", "ram")):
        ended = tinygen(*command[:1], model, *command[1:], "--stream", "time", "--kernels", "portable", "--json")
        assert (ended.document["stream"], ended.document["macs"]) == (stream_, 46_040)
    refused = tinygen("inspect", model_file("kws_ref_model"), "--stream", "time")
    assert refused.code == 3 and "its result depends on 4 rows of padding before and 5 behind" in refused.stderr
    both = tinygen("inspect", model, "--stream", "time", "--input", "streamed")
    assert both.code == 2 and "are given both, one was expected" in both.stderr


@pytest.mark.parametrize("oracle", [Oracle.LITERT, Oracle.ONNXRUNTIME])
def test_no_oracle_runs_streams(oracle: Oracle) -> None:
    with pytest.raises(UsageError, match="as a stream, simulator was expected"):
        validate(_compiled("host", Library.PORTABLE), against=oracle)


def test_too_few_calls() -> None:
    calls, _ = _spectrogram()
    with pytest.raises(UsageError, match="has 29 samples, 30 or more were expected"):
        validate(_compiled("host", Library.PORTABLE), calls[:29], samples=1)


@pytest.mark.qemu
@requires_qemu
def test_states_in_two_memories(tmp_path: Path) -> None:
    """Where the fastest memory is too small for all states, some lie in another; `reset` finds them all."""
    board = load("mps3-an547")
    small = resized(tmp_path, board.name, {board.main_ram.name: board.stack_bytes + 256 + 2_600})
    options = Options(target=str(small), kernels=Kernels.PORTABLE, objective=Objective.RAM, stream="time")
    compiled = compile_model(model_file(WAKE_WORD), options)
    states = {compiled.schedule.places[state.tensor].buffer for state in compiled.graph.states}
    assert len({compiled.schedule.memory(buffer).name for buffer in states}) == 2
    assert validate(compiled, samples=2).exact


@requires_host_cc
def test_instances_and_reset(tmp_path: Path) -> None:
    """Two instances side by side keep signals of their own; after a reset one begins anew; the one-shot function has an
    instance of its own, too."""
    compiled = _compiled("host", Library.PORTABLE)
    calls, _ = _spectrogram()
    program = _TWO_INSTANCES.replace("NAME", compiled.name).replace("UPPER", compiled.name.upper())
    run_with_model(compiled, {"columns.h": _columns_header(calls), "two.c": program}, tmp_path)


def _columns_header(calls: Sequence[Sample]) -> str:
    rows = ["{" + ", ".join(str(value) for value in call[0].reshape(-1)) + "}" for call in calls[:90]]
    return f"static const signed char columns[90][40] = {{\n{','.join(rows)}\n}};\n"


_TWO_INSTANCES = """
#include "NAME.h"
#include "columns.h"

#include <string.h>

static _Alignas(UPPER_ARENA_ALIGN) int8_t arenas[2][UPPER_ARENA_BYTES];
static NAME_context contexts[2];

static const int8_t *call(int which, int column)
{
    memcpy(NAME_input(&contexts[which], 0), columns[column], UPPER_INPUT0_BYTES);
    return NAME_invoke(&contexts[which]) == 0 ? NAME_output(&contexts[which], 0) : NULL;
}

int main(void)
{
    int8_t alone[60][3], shot[3];

    memset(arenas, 0x55, sizeof arenas);
    if (NAME_init(&contexts[0], arenas[0]) != 0 || NAME_init(&contexts[1], arenas[1]) != 0) {
        return 1;
    }
    for (int i = 0; i < 60; ++i) {
        memcpy(alone[i], call(0, 30 + i), 3);
        if (NAME_run(columns[30 + i], shot) != 0 || memcmp(shot, alone[i], 3) != 0) {
            return 2;
        }
    }
    NAME_reset(&contexts[0]);
    for (int i = 0; i < 60; ++i) {
        if (memcmp(call(0, 30 + i), alone[i], 3) != 0) {
            return 3;
        }
        if (i >= 7 && memcmp(call(1, 30 + i - 7), alone[i - 7], 3) != 0) {
            return 4;
        }
    }
    return 0;
}
"""
