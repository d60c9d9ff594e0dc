"""The interpreter: outputs of TFLM's own runs, every inner tensor, and memory that must not be touched."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.errors import VerifyError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph, Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.plan import plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Place, Schedule

_MLPERF_TINY = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")


def _plan(graph: Graph, board: str = "mps2-an386") -> Schedule:
    target = targets.load(board)
    return plan(graph, target, Toolbox(Library.CMSIS_NN, target.isa))


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("model", _MLPERF_TINY)
def test_outputs_are_those_of_tflm(model: str, board: str) -> None:
    graph = import_tflite(shared_file(f"models/mlperf_tiny/{model}.tflite"))
    schedule = _plan(graph, board)
    with np.load(shared_file(f"golden/tflm/{model}.tflite.npz")) as golden:
        for x, y in zip(golden["x"], golden["y"], strict=True):
            (output,) = interpret(schedule, [x.reshape(graph.input_tensors[0].shape)])
            np.testing.assert_array_equal(output.reshape(-1), y)


@pytest.mark.parametrize("model", _MLPERF_TINY)
def test_every_tensor_is_that_of_direct_evaluation(model: str) -> None:
    graph = import_tflite(shared_file(f"models/mlperf_tiny/{model}.tflite"))
    inputs = random_inputs(graph, seed=3)
    expected = evaluate(graph, inputs)
    observed: list[str] = []

    def observe(op: Op, results: tuple[Array, ...]) -> None:
        observed.append(op.name)
        for tensor, value in zip(op.results, results, strict=True):
            np.testing.assert_array_equal(value, expected[tensor], err_msg=tensor.name)

    outputs = interpret(_plan(graph), inputs, observe)
    assert observed == [op.name for op in graph.ops]
    for tensor, value in zip(graph.output_tensors, outputs, strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


def _two_convolutions() -> Schedule:
    build = GraphBuilder()
    image = build.input(1, 5, 5, 2)
    return _plan(build.graph(build.conv(build.conv(image, 3, HW(3, 3)), 2)))


def test_the_arena_is_no_larger_than_planned() -> None:
    """A result that reaches into the guard zone is found, although its buffer claims less."""
    schedule = _two_convolutions()
    output = schedule.graph.output_tensors[0]
    short = Buffer("short", 1, 1, BufferKind.WHOLE, 1, 1)
    damaged = replace(
        schedule,
        buffers=(*(b for b in schedule.buffers if b is not schedule.places[output].buffer), short),
        places={**schedule.places, output: Place(short, 0)},
        offsets={**schedule.offsets, short: schedule.arena_bytes - 1},
    )
    with pytest.raises(VerifyError, match=r"step 1( \(op1\))?: wrote outside of the arena"):
        interpret(damaged, random_inputs(schedule.graph, 0))


def test_a_place_beyond_the_guard_zone() -> None:
    schedule = _two_convolutions()
    output = schedule.graph.output_tensors[0]
    far = Place(schedule.places[output].buffer, 1_000_000)
    with pytest.raises(VerifyError, match=r"arena: bytes \d+ to \d+ lie beyond its guard zones"):
        interpret(replace(schedule, places={**schedule.places, output: far}), random_inputs(schedule.graph, 0))


def test_a_lifetime_that_ends_early_changes_the_outputs() -> None:
    build = GraphBuilder()
    image = build.input(1, 5, 5, 2)
    stem = build.conv(image, 2)
    graph = build.graph(build.add(stem, build.conv(stem, 2)))
    schedule, inputs = _plan(graph), random_inputs(graph, 0)
    expected = evaluate(graph, inputs)[graph.output_tensors[0]]
    np.testing.assert_array_equal(interpret(schedule, inputs)[0], expected)
    old = schedule.places[stem].buffer
    short = replace(old, last_step=1)
    damaged = replace(
        schedule,
        buffers=tuple(short if buffer is old else buffer for buffer in schedule.buffers),
        places={t: replace(p, buffer=short) if p.buffer is old else p for t, p in schedule.places.items()},
        offsets={short if buffer is old else buffer: offset for buffer, offset in schedule.offsets.items()},
    )
    assert not np.array_equal(interpret(damaged, inputs)[0], expected)


def test_a_result_over_an_operand_that_the_kernel_still_reads_changes_the_outputs() -> None:
    """numpy reads all before it writes, a kernel does not: only operands of kernels in place may be overwritten."""
    build = GraphBuilder()
    image = build.input(1, 5, 5, 2)
    first = build.conv(image, 2)
    graph = build.graph(build.conv(first, 2))
    schedule, inputs = _plan(graph), random_inputs(graph, 0)
    output = graph.output_tensors[0]
    damaged = replace(schedule, places={**schedule.places, output: schedule.places[first]})
    assert not np.array_equal(interpret(damaged, inputs)[0], evaluate(graph, inputs)[output])


def test_memory_that_was_never_written_holds_garbage() -> None:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 2)
    graph = build.graph(build.conv(image, 2))
    schedule, inputs = _plan(graph), random_inputs(graph, 0)
    (output,) = interpret(replace(schedule, steps=()), inputs)
    assert len(np.unique(output)) > 50


def test_an_input_of_the_wrong_type() -> None:
    schedule = _two_convolutions()
    with pytest.raises(ValueError, match=r"'in0' is given int8\[2, 2\], int8\[1, 5, 5, 2\] was expected"):
        interpret(schedule, [np.zeros((2, 2), np.int8)])
