"""Plans: the arenas of the MLPerf Tiny models, random graphs from plan to outputs, and which views are worth it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, evaluate, graphs, random_inputs
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.errors import UnsupportedModelError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Library, Toolbox
from tinygen.kernels.select import select
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.reshape import Reshape
from tinygen.ops.window import HW
from tinygen.planner.plan import plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.whole.copies import layouts
from tinygen.planner.whole.layout import lay_out

_M4 = targets.load("mps2-an386")
_BOARDS = [targets.load(name) for name in ("mps2-an386", "mps3-an547", "mps2-an385")]


def _plan(graph: Graph) -> Schedule:
    return plan(graph, _M4, Toolbox(Library.CMSIS_NN, _M4.isa))


@pytest.mark.parametrize(
    ("model", "arena_bytes"),
    [
        ("ad01_int8", 768),
        ("kws_ref_model", 16_000),
        ("pretrainedResnet_quant", 49_728),
        ("vww_96_int8", 55_296),
        ("str_ww_ref_model", 7_936),
    ],
)
def test_arena_of_mlperf_tiny(model: str, arena_bytes: int) -> None:
    schedule = _plan(import_tflite(shared_file(f"models/mlperf_tiny/{model}.tflite")))
    assert schedule.arena_bytes == schedule.lower_bound_bytes == arena_bytes


@given(graphs(max_ops=12), st.sampled_from(_BOARDS), st.sampled_from(Library))
@settings(max_examples=300)
def test_random_graphs_from_plan_to_outputs(graph: Graph, board: targets.Board, library: Library) -> None:
    schedule = plan(graph, board, Toolbox(library, board.isa))
    check(schedule, limit_bytes=schedule.arena_bytes)
    assert schedule.lower_bound_bytes <= schedule.arena_bytes
    inputs = random_inputs(graph, seed=1)
    expected = evaluate(graph, inputs)
    observed: dict[Tensor, Array] = {}

    def observe(op: Op, results: tuple[Array, ...]) -> None:
        observed.update(zip(op.results, results, strict=True))

    outputs = interpret(schedule, inputs, observe)
    assert observed.keys() == expected.keys() - set(graph.input_tensors)
    for tensor, value in (*observed.items(), *zip(graph.output_tensors, outputs, strict=True)):
        np.testing.assert_array_equal(value, expected[tensor], err_msg=tensor.name)


@given(graphs(max_ops=12))
@settings(max_examples=30)
def test_the_same_graph_gives_the_same_plan(graph: Graph) -> None:
    first, second = _plan(graph), _plan(graph)
    assert [first.address(tensor) for tensor in first.places] == [second.address(tensor) for tensor in second.places]


def _kernels(graph: Graph) -> dict[Op, Kernel]:
    return {op: select(op, Toolbox(Library.CMSIS_NN, _M4.isa)) for op in graph.ops}


def _called(schedule: Schedule) -> set[str]:
    return {call.op.name for call in schedule.calls}


def _long_lived_part(branches: int) -> Graph:
    """Slices of one row are needed at the end: as views they keep the large tensors that they come from alive."""
    build = GraphBuilder()
    tensor = build.input(1, 16, 16, 4)
    rows = []
    for _ in range(branches):
        tensor = build.conv(tensor, 4)
        rows.append(build.slice(tensor, 1, 0, 1))
    pooled = build.pool(MaxPool2D, tensor, HW(2, 2), HW(16, 1))
    for row in rows:
        pooled = build.add(pooled, row)
    return build.graph(pooled)


@pytest.mark.parametrize("branches", [1, 5, 9])
def test_a_slice_is_copied_where_a_view_keeps_too_much_alive(branches: int) -> None:
    graph = _long_lived_part(branches)
    schedule = _plan(graph)
    views = lay_out(graph, _kernels(graph))
    assert schedule.arena_bytes <= views.lower_bound_bytes
    if branches > 1:
        assert schedule.arena_bytes < views.lower_bound_bytes
    check(schedule)


def test_a_concatenation_is_a_view_where_that_costs_nothing() -> None:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 2)
    whole = build.concat([build.conv(image, 4), build.conv(image, 4)], axis=1)
    schedule = _plan(build.graph(build.conv(whole, 2)))
    assert _called(schedule) == {"op0", "op1", "op3"}
    assert schedule.arena_bytes == 2 * 256 + 256


def test_operators_run_in_another_order_only_where_that_needs_less() -> None:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 2)
    wide = build.conv(image, 32)
    small = build.fully_connected(build.conv(image, 16), 4)
    branched = build.graph(build.add(build.fully_connected(wide, 4), small))
    reordered = _plan(branched)
    assert [call.op.name for call in reordered.calls] == ["op0", "op3", "op1", "op2", "op4"]
    assert reordered.arena_bytes == 128 + 2048 + 4
    straight = reordered.graph
    assert _plan(straight).graph is straight


def test_few_candidates_are_all_tried_and_the_least_bound_comes_first() -> None:
    graph = _long_lived_part(5)
    found = layouts(graph, _kernels(graph))
    assert len(found) == 2**5
    costs = [(layout.lower_bound_bytes, layout.copied_bytes) for layout in found]
    assert costs == sorted(costs)


def test_greedy_search_is_as_good_as_all_subsets_here(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _long_lived_part(5)
    best = layouts(graph, _kernels(graph))[0]
    monkeypatch.setattr("tinygen.planner.whole.copies._MOST_FOR_ALL_SUBSETS", 0)
    assert layouts(graph, _kernels(graph))[0].lower_bound_bytes == best.lower_bound_bytes


def test_a_copy_without_kernel_is_refused() -> None:
    build = GraphBuilder()
    image = build.input(1, 2, 2, 1)
    graph = build.graph(build.reshape(build.conv(image, 1), 1, 4))
    copied = frozenset(op for op in graph.ops if isinstance(op, Reshape))
    kernels = {op: kernel for op, kernel in _kernels(graph).items() if op not in copied}
    with pytest.raises(UnsupportedModelError, match=r"net, operator 1 \(Reshape\): has no kernel"):
        lay_out(graph, kernels, copied)


def test_equal_tables_count_once() -> None:
    build = GraphBuilder()
    image = build.input(1, 4, 4, 2)
    schedule = _plan(build.graph(build.conv(build.conv(image, 2), 2)))
    tables = [table for call in schedule.calls for table in call.kernel.tables]
    assert const_bytes(schedule) == sum({t.values.tobytes(): t.values.nbytes for t in tables}.values())
    first, second = schedule.calls
    copies = tuple(replace(table, data=table.values.copy()) for table in first.kernel.tables)
    same = replace(second, kernel=replace(second.kernel, tables=copies))
    assert const_bytes(replace(schedule, steps=(first, same))) == sum(t.values.nbytes for t in first.kernel.tables)
