"""Strips of columns: what the splitting property leaves out, and the figures of `spec/memory.md`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.networks import mobilenet_v2
from tests.support.steps import counted
from tinygen import targets
from tinygen.codegen.render import render
from tinygen.errors import VerifyError
from tinygen.ir.graph import Graph, Values
from tinygen.ir.rows import Columns, Rows, has_rows, part_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import select
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Call, Crop, FlatStep, Fused, Schedule, Shift
from tinygen.planner.search.split import split
from tinygen.report.operators import extra_macs

_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
_MOST_STEPS = 60_000_000  # about 29 million


def _pyramid() -> Graph:
    """Wide images whose rows are dear, and a small result: what strips are for."""
    build = GraphBuilder()
    tensor = build.input(1, 16, 32, 3)
    for channels, stride in ((8, 1), (8, 2), (12, 2)):
        tensor = build.depthwise(build.conv(tensor, channels, HW(3, 3), HW(stride, stride)))
    return build.graph(tensor)


def _assert_computes(schedule: Schedule) -> None:
    check(schedule)
    inputs = random_inputs(schedule.graph, seed=3)
    expected = evaluate(schedule.graph, inputs)
    for tensor, value in zip(schedule.graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


def test_a_tile_of_any_rows_and_columns_is_that_part_of_the_result() -> None:
    graph = _pyramid()
    values = evaluate(graph, random_inputs(graph, seed=1))
    for op in graph.ops:
        result = op.results[0]
        assert has_rows(result)
        for columns in (Columns(0, 3), Columns(2, 5), Columns(result.shape[2] - 1, result.shape[2])):
            strip = op.strip(columns)
            assert strip is not None
            tile = strip.tile(Rows(1, 3))
            assert tile is not None
            tile.op.verify()
            read: dict[Tensor, Array] = {
                part.tensor: np.ascontiguousarray(part_of(values[part.whole], part)) for part in tile.operands
            }
            (found,) = tile.op.evaluate(Values(read.__getitem__))
            np.testing.assert_array_equal(found, part_of(values[result], tile.result))


def test_strips_need_leave_to_recompute_and_an_input_that_can_be_read_again() -> None:
    graph = _pyramid()
    streamed = PlanRequest(fetches_input=True)
    plain = plan(graph, _M4, _TOOLBOX, streamed)
    allowed = graph.macs // 4
    once = plan(graph, _M4, _TOOLBOX, PlanRequest(fetches_input=True, extra_macs=allowed))
    again = plan(graph, _M4, _TOOLBOX, PlanRequest(fetches_input=True, rereads_input=True, extra_macs=allowed))
    assert extra_macs(plain) == 0
    assert not any(piece.columns for piece in once.pieces.values() if piece.whole in graph.input_tensors)
    assert 0 < extra_macs(again) <= allowed
    assert again.arena_bytes < min(plain.arena_bytes, once.arena_bytes)
    assert max(again.strips(step) for step in again.steps if isinstance(step, Fused)) > 1
    _assert_computes(again)


def test_columns_of_a_whole_input_are_copied_to_a_ring_where_a_kernel_reads_several_rows() -> None:
    schedule = _cropped()
    crops = [step for step in schedule.flat_steps if isinstance(step, Crop)]
    assert {crop.source.whole for crop in crops} == set(schedule.graph.input_tensors)
    _assert_computes(schedule)
    text = render(schedule, "net", "net.tflite")["net.c"]
    assert "in 3 strips of columns" in text
    assert "memcpy(arena + AT_" in text


def _cropped() -> Schedule:
    graph = _pyramid()
    network = Network.of(graph, {op: select(op, _TOOLBOX) for op in graph.ops}, fetches_input=False)
    return split(network, (Segment(0, len(graph.ops), 1, strips=3),), _M4, _TOOLBOX)


def test_defects_of_copied_columns_are_found() -> None:
    schedule = _cropped()
    steps = schedule.flat_steps
    at = next(index for index, step in enumerate(steps) if isinstance(step, Crop))
    crop = steps[at]
    assert isinstance(crop, Crop)
    with pytest.raises(VerifyError, match=rf"step {at}: copies '.+' over itself"):
        check(replace(schedule, places={**schedule.places, crop.target.tensor: schedule.places[crop.source.tensor]}))
    with pytest.raises(VerifyError, match=r"before it is written|was overwritten by"):
        check(_of(schedule, [*steps[:at], *steps[at + 1 :]]))
    place = schedule.places[crop.source.tensor]
    elsewhere = {**schedule.places, crop.source.tensor: replace(place, offset=place.offset + 1)}
    with pytest.raises(VerifyError, match=rf"step {at} \(copy of columns\): reads '.+', but byte 0 of it was"):
        check(replace(schedule, places=elsewhere))


def test_defects_of_moved_rows_are_found() -> None:
    schedule = _cropped()
    steps = schedule.flat_steps
    at = max(index for index, step in enumerate(steps) if isinstance(step, Shift))
    shift = steps[at]
    assert isinstance(shift, Shift)
    check(_of(schedule, steps))
    for wrong in (replace(shift, source=shift.source + 1), replace(shift, bytes=shift.bytes - 1)):
        with pytest.raises(VerifyError, match=r"reads '.+', but byte \d+ of it was overwritten by"):
            check(_of(schedule, [*steps[:at], wrong, *steps[at + 1 :]]))
    with pytest.raises(VerifyError, match=r"reads '.+', but byte \d+ of it was overwritten by"):
        check(_of(schedule, [*steps[:at], *steps[at + 1 :]]))


def _of(schedule: Schedule, steps: Sequence[FlatStep]) -> Schedule:
    """The schedule with other steps, and buffers that live as long as any."""
    last = len(schedule.flat_steps)
    known = {buffer: replace(buffer, first_step=0, last_step=last) for buffer in schedule.buffers}

    def renewed(step: FlatStep) -> FlatStep:
        if isinstance(step, Call) and step.scratch:
            return replace(step, scratch=known[step.scratch])
        return replace(step, buffer=known[step.buffer]) if isinstance(step, Shift) else step

    return replace(
        schedule,
        steps=tuple(map(renewed, steps)),
        buffers=tuple(known.values()),
        places={tensor: replace(place, buffer=known[place.buffer]) for tensor, place in schedule.places.items()},
        offsets={known[buffer]: offset for buffer, offset in schedule.offsets.items()},
    )


def test_the_plan_is_the_same_each_time() -> None:
    request = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=10**6)
    first, second = (render(plan(_pyramid(), _M4, _TOOLBOX, request), "net", "net.tflite") for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_mobilenet_v2_in_64_kilobytes() -> None:
    graph = mobilenet_v2(224)
    request = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=round(0.043 * graph.macs))
    with counted(_MOST_STEPS) as steps:
        schedule = plan(graph, _M4, _TOOLBOX, request)
    again = extra_macs(schedule) / graph.macs
    print(f"{schedule.arena_bytes} bytes, {again:.2%} extra, planned in {steps.count} steps")
    assert schedule.arena_bytes <= 57_087
    assert 0 < extra_macs(schedule) <= request.extra_macs
