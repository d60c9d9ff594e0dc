"""Outputs that the application takes by rows: what the checker finds, and what is kept of them in the arena."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tinygen import targets
from tinygen.errors import VerifyError
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.fit import remedies
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Call, FlatStep, Fused, Schedule, Store
from tinygen.report.plan import BufferRole, describe

_BOARD = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.CMSIS_NN, _BOARD.isa, Objective.RAM)
_ROWS = 12


def _graph() -> Graph:
    """A wide result of a narrow image."""
    build = GraphBuilder()
    stem = build.conv(build.input(1, _ROWS, 4, 1), 2, HW(3, 3))
    return build.graph(build.conv(stem, 16, HW(3, 3)))


def _stored(graph: Graph) -> Schedule:
    return plan(graph, _BOARD, _TOOLBOX, PlanRequest(stores_output=True))


def test_one_row_of_the_result_is_kept() -> None:
    graph = _graph()
    (output,) = graph.output_tensors
    schedule = _stored(graph)
    stores = [step for step in schedule.flat_steps if isinstance(step, Store)]
    assert [step.piece.rows.first for step in stores] == list(range(_ROWS))
    assert {schedule.places[step.piece.tensor].buffer.bytes for step in stores} == {output.type.bytes // _ROWS}
    assert schedule.arena_bytes < output.type.bytes <= plan(graph, _BOARD, _TOOLBOX).arena_bytes
    document = describe(schedule)
    assert [row.held_rows for row in document.buffers if row.role is BufferRole.OUTPUT] == [1]
    assert "store row 11 of output 0" in [step.text for step in document.steps]


def test_a_row_stays_where_another_operator_reads_it_later() -> None:
    build = GraphBuilder()
    stem = build.conv(build.input(1, _ROWS, 4, 1), 8, HW(3, 3))
    graph = build.graph(stem, build.conv(stem, 1, HW(5, 5), HW(2, 2)))
    schedule = _stored(graph)
    assert schedule.stored == set(graph.output_tensors)
    inputs = random_inputs(graph, seed=2)
    expected = evaluate(graph, inputs)
    for tensor, value in zip(graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


def _damaged(schedule: Schedule, steps: list[FlatStep]) -> Schedule:
    return replace(schedule, steps=(Fused(schedule.graph.ops, tuple(steps)),))


def _swap_stores(steps: list[FlatStep], store: int, following: int) -> None:
    steps[store], steps[following] = steps[following], steps[store]


def _store_before_it_is_computed(steps: list[FlatStep], store: int, _: int) -> None:
    steps[store - 1], steps[store] = steps[store], steps[store - 1]


def _store_after_the_next_row(steps: list[FlatStep], store: int, following: int) -> None:
    steps.insert(following - 1, steps.pop(store))


def _store_twice(steps: list[FlatStep], store: int, following: int) -> None:
    steps[following] = steps[store]


def test_storing_is_proposed_where_the_result_is_the_largest_value() -> None:
    request = PlanRequest(limit_bytes=200)
    for graph, is_proposed in ((_graph(), True), (_narrowing(), False)):
        schedule = plan(graph, _BOARD, _TOOLBOX, request)
        found = {remedy.options: remedy.arena_bytes for remedy in remedies(schedule, _TOOLBOX, request)}
        assert ("--results stored" in found) is is_proposed
        assert found.get("--results stored", 0) < schedule.arena_bytes


def _narrowing() -> Graph:
    build = GraphBuilder()
    return build.graph(build.conv(build.conv(build.input(1, _ROWS, 4, 1), 16, HW(3, 3)), 2))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_swap_stores, r"stores 't1\[6:7\]' as output 0, 't1' from row 5 on was expected"),
        (_store_twice, r"stores 't1\[5:6\]' as output 0, 't1' from row 6 on was expected"),
        (_store_before_it_is_computed, r"reads 't1\[5:6\]' before it is written"),
        (_store_after_the_next_row, r"reads 't1\[5:6\]', but byte 0 of it was overwritten by 't1\[6:7\]'"),
    ],
)
def test_a_planted_defect_is_found(damage: Callable[[list[FlatStep], int, int], None], message: str) -> None:
    schedule = _stored(_graph())
    steps = list(schedule.flat_steps)
    check(_damaged(schedule, steps))
    store, following = [index for index, step in enumerate(steps) if isinstance(step, Store)][5:7]
    assert isinstance(steps[store - 1], Call)
    damage(steps, store, following)
    with pytest.raises(VerifyError, match=message):
        check(_damaged(schedule, steps))


def test_a_missing_last_row_is_found() -> None:
    schedule = _stored(_graph())
    *steps, last = schedule.flat_steps
    assert isinstance(last, Store)
    with pytest.raises(VerifyError, match="output 0 has 12 rows, 11 of them are stored"):
        check(_damaged(schedule, steps))
