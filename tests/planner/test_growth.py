"""Weights that grow for speed: the fastest that fit the flash, and what a percent of time may cost of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.command_line import DIGITS, tinygen
from tests.support.graphs import GraphBuilder
from tests.support.models import model_file
from tests.support.shared import shared_file
from tinygen import paths
from tinygen.ir.graph import Graph, Op, Source, Subgraph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.kernels.base import (
    HUFFMAN,
    IN_CALL,
    PACKED,
    PLAIN,
    SHORTEST,
    SQUEEZED,
    Kernel,
    Library,
    Objective,
    Toolbox,
)
from tinygen.kernels.native.select import is_native
from tinygen.kernels.tinygen_c.compact import CompactFullyConnected
from tinygen.kernels.tinygen_c.huffman import FullyConnectedHuffmanS8
from tinygen.ops.control import If
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import HW
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, Shared, plan_model
from tinygen.planner.cost import growth
from tinygen.planner.cost.choice import instructions, select
from tinygen.planner.cost.code import beside_constants, functions_bytes, functions_called, functions_of_all
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.cost.growth import exchanging, planned_within
from tinygen.planner.plan import for_graph, plan
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.targets import load
from tinygen.targets.isa import Isa

_M4 = load("mps2-an386")
_AUTO = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True, chooses_by_cost=True, tallest_tile=4)
_SHARED = Shared()
_DESCRIPTIONS = 400  # bytes, by which those of the calls of three layers differ at most


def _planned(name: str, goal: Objective = Objective.TIME, **limits: object) -> Compiled:
    return plan_model(model_file(name), Options(_M4.name, objective=goal, **limits), shared=_SHARED)  # type: ignore[arg-type]


def _ic(goal: Objective = Objective.TIME, **limits: object) -> Compiled:
    return _planned("pretrainedResnet_quant", goal, **limits)


def _cost(compiled: Compiled) -> float:
    return estimated_instructions(compiled.schedule, compiled.library)


def _flash_bytes(compiled: Compiled) -> int:
    return const_bytes(compiled.schedule) + beside_constants(compiled.schedule, compiled.toolbox)


@st.composite
def _convolutions(draw: st.DrawFn) -> Graph:
    """Convolutions of several sizes, so that the gain of a byte differs."""
    build = GraphBuilder(draw(st.integers(0, 99)))
    tensor = build.input(1, draw(st.integers(4, 16)), draw(st.integers(4, 16)), draw(st.sampled_from([4, 8])))
    for _ in range(draw(st.integers(1, 4))):
        tensor = build.conv(tensor, draw(st.sampled_from([4, 8, 16])), HW(3, 3))
    return build.graph(tensor)


def _all_ways(graph: Graph, toolbox: Toolbox) -> list[tuple[int, int, float]]:
    """Bytes of constants, of what stands beside them, and instructions of every combination of tiles and plain weights,
    each planned with its own toolbox."""
    found = []
    layers = [op.operands[1] for op in graph.ops]
    for growths in product((4, 2, 1, IN_CALL, 0, PLAIN), repeat=len(layers)):
        tools = replace(toolbox, tallest_tile=0, growths=tuple(zip(layers, growths, strict=True)))
        schedule = plan(graph, _M4, tools)
        instructions = estimated_instructions(schedule, Library.PORTABLE)
        found.append((const_bytes(schedule), beside_constants(schedule, tools), instructions))
    return found


@given(_convolutions().filter(lambda graph: len(graph.ops) <= 2), st.floats(0, 1))
@settings(max_examples=12, deadline=None)
def test_no_combination_within_the_limit_is_faster(graph: Graph, share: float) -> None:
    ways = [(constants, cost) for constants, _, cost in _all_ways(graph, _AUTO)]
    least, most = min(bytes for bytes, _ in ways), max(bytes for bytes, _ in ways)
    limit = int(least + share * (most - least))
    _, schedule = planned_within(limit, graph.ops, _AUTO, lambda tools: plan(graph, _M4, tools))
    assert const_bytes(schedule) <= limit
    fastest = min(cost for bytes, cost in ways if bytes <= limit)
    assert estimated_instructions(schedule, Library.PORTABLE) <= fastest * (1 + 1e-9)


@st.composite
def _layers_of_two_kinds(draw: st.DrawFn) -> Graph:
    """Two or three layers, so that some share code and some do not."""
    build = GraphBuilder(draw(st.integers(0, 99)))
    size = draw(st.sampled_from([4, 8, 16]))
    tensor = build.input(1, size, size, draw(st.sampled_from([4, 8])))
    for _ in range(draw(st.integers(2, 3))):
        if draw(st.booleans()):
            tensor = build.conv(tensor, draw(st.sampled_from([4, 8, 16])), draw(st.sampled_from([HW(1, 1), HW(3, 3)])))
        else:
            tensor = build.depthwise(tensor)
    return build.graph(tensor)


@given(_layers_of_two_kinds(), st.floats(0, 1))
@settings(max_examples=12, deadline=None)
def test_no_combination_within_the_limit_with_code_is_faster(graph: Graph, share: float) -> None:
    """None that takes `_DESCRIPTIONS` less: how many bytes describe calls is known only when all is planned."""
    ways = [(constants + beside, cost) for constants, beside, cost in _all_ways(graph, _AUTO)]
    least, most = min(bytes for bytes, _ in ways), max(bytes for bytes, _ in ways)
    limit = int(least + _DESCRIPTIONS + share * (most - least))
    tools, schedule = planned_within(limit, graph.ops, _AUTO, lambda tools: plan(graph, _M4, tools), counts_code=True)
    assert const_bytes(schedule) + beside_constants(schedule, tools) <= limit
    fastest = min(cost for bytes, cost in ways if bytes <= limit - _DESCRIPTIONS)
    assert estimated_instructions(schedule, Library.PORTABLE) <= fastest * (1 + 1e-9)


@given(st.one_of(_convolutions(), _layers_of_two_kinds()), st.integers(1, 20_000))
@settings(max_examples=20, deadline=None)
def test_no_combination_is_worth_more_by_the_rate(graph: Graph, flash_per_percent: int) -> None:
    """A byte of weights or of code, which all layers that run on it pay once, is worth so many instructions."""
    rate = instructions(graph.ops, replace(_AUTO, tallest_tile=0)) / 100 / flash_per_percent

    def worth(toolbox: Toolbox) -> float:
        kernels = [select(op, toolbox) for op in graph.ops]
        bytes = sum(table.bytes for kernel in kernels for table in kernel.tables)
        code = functions_bytes(functions_of_all(kernels), toolbox)
        return instructions(graph.ops, toolbox) + rate * (bytes + code)

    best = worth(exchanging(graph.ops, _AUTO, flash_per_percent))
    layers = [op.operands[1] for op in graph.ops]
    for growths in product((4, 2, 1, IN_CALL, 0, PLAIN), repeat=len(layers)):
        other = replace(_AUTO, tallest_tile=0, growths=tuple(zip(layers, growths, strict=True)))
        assert best <= worth(other) * (1 + 1e-9)


def test_a_kernel_stays_out_whose_code_saves_less_than_it_is_worth() -> None:
    """The last layer of keyword spotting, 768 multiplications, was the only one on 1.7 KB of kernels: 0.13 % of the
    instructions, where a percent may cost 3 KB."""
    found = _planned("kws_ref_model", cmsis_nn=paths.WITHOUT_CMSIS_NN)
    functions = functions_called(found.schedule)
    assert "arm_fully_connected_s8" in functions and "tg_native_convolve_runs_joined_s8" not in functions
    more = _planned("kws_ref_model", cmsis_nn=paths.WITHOUT_CMSIS_NN, flash_bytes=512 << 10)
    assert "tg_native_convolve_runs_joined_s8" in functions_called(more.schedule)
    saved = functions_bytes(functions_called(more.schedule), more.toolbox) - functions_bytes(functions, found.toolbox)
    assert saved > 1700 and _cost(more) < _cost(found) < 1.002 * _cost(more)


def test_a_network_without_weights_keeps_its_kernels() -> None:
    """The flash that portable kernels take is what a percent is counted by: no constants are none of it."""
    build = GraphBuilder(1)
    image = build.input(1, 48, 48, 8)
    greatest = build.pool(MaxPool2D, image, HW(3, 3), HW(1, 1))
    graph = build.graph(build.pool(AveragePool2D, build.add(image, greatest), HW(3, 3), HW(1, 1)))
    taken = exchanging(graph.ops, _AUTO, None)
    assert all(is_native(select(op, taken)) for op in graph.ops)


def test_code_that_subgraphs_take_is_there() -> None:
    """A convolution runs on the kernel of those in a branch, which alone would not be worth its code."""
    alone, beside = _with_branch(has_alike=False), _with_branch(has_alike=True)
    kernels = []
    for graph in (alone, beside):
        toolbox = for_graph(graph, _M4, _AUTO, Solver.BUILTIN)
        first = next(op for op in graph.ops if isinstance(op, Conv2D))
        kernels.append(select(first, exchanging(graph.ops, toolbox, flash_per_percent=6)))
    assert [is_native(kernel) for kernel in kernels] == [False, True]


def _with_branch(*, has_alike: bool) -> Graph:
    """A small convolution beside a branch in which others may be that run on the same kernel."""
    build = GraphBuilder(3)
    small = build.conv(build.input(1, 2, 3, 8), 8)
    image = build.input(1, 16, 16, 8)
    branches = []
    for name, is_other in (("true", has_alike), ("false", False)):
        first = len(build.ops)
        result = build.conv(build.conv(image, 8), 8) if is_other else build.copy(image)
        branches.append(Subgraph.of(name, [image], tuple(build.ops[first:]), [result]))
        del build.ops[first:]
    condition, result = Tensor("condition", TensorType(DType.BOOL, (1,))), Tensor("result", image.type)
    fields = {"condition": condition, "inputs": (image,), "outputs": (result,)}
    chosen = dict(zip(("when_true", "when_false"), branches, strict=True))
    build.ops.append(If(name="if", source=Source("net", 99, "IF"), **fields, **chosen))  # type: ignore[arg-type]
    build.inputs.append(condition)
    return build.graph(result, small)


def test_what_has_no_price_of_its_own_is_not_exchanged() -> None:
    """Depthwise layers of a stream on Cortex-M55: 16,060 instructions by the price of similar work in C, else 6,331."""
    options = Options("mps3-an547", objective=Objective.TIME, cmsis_nn=paths.WITHOUT_CMSIS_NN)
    found = plan_model(shared_file("models/open/mww_v2_vad_streaming_int8.tflite"), options, shared=_SHARED)
    functions = functions_called(found.schedule)
    assert any(name.startswith("tg_native_mve_ring_depthwise") for name in functions)
    assert "tg_ring_depthwise_s8" not in functions


@pytest.mark.parametrize(
    ("name", "cmsis_nn", "limits"),
    [
        ("pretrainedResnet_quant", None, range(112, 544, 32)),
        (
            "pretrainedResnet_quant",
            paths.WITHOUT_CMSIS_NN,
            (*range(96, 128, 4), *range(128, 224, 8), 256, 320, 512),
        ),
        ("silabs_rock_paper_scissors", paths.WITHOUT_CMSIS_NN, (72, 80, *range(88, 116, 2), 128)),
    ],
)
def test_more_flash_is_never_slower(name: str, cmsis_nn: Path | None, limits: Sequence[int]) -> None:
    """Constants and code keep within each limit."""
    found = [(limit, _planned(name, flash_bytes=limit << 10, cmsis_nn=cmsis_nn)) for limit in limits]
    for limit, compiled in found:
        assert _flash_bytes(compiled) <= limit << 10
    costs = [_cost(compiled) for _, compiled in found]
    assert all(less >= more for less, more in pairwise(costs))
    assert costs[-1] == min(costs) < 0.8 * costs[0]


@pytest.mark.parametrize(("limit", "most"), [(96, 7.25e6), (98, 7.25e6), (100, 7.2e6)])
def test_rock_paper_scissors_within_little_flash(limit: int, most: float) -> None:
    """Kernels that save much alone go where two others leave room for weights that save more: 7.73 million where only
    steps that help are taken."""
    compiled = _planned("silabs_rock_paper_scissors", flash_bytes=limit << 10, cmsis_nn=paths.WITHOUT_CMSIS_NN)
    assert _flash_bytes(compiled) <= limit << 10
    assert _cost(compiled) <= most


@pytest.mark.parametrize(("limit", "most"), [(96, 14.5e6), (100, 12.5e6), (104, 10.6e6), (192, 7.9e6)])
def test_image_classification_within_little_flash(limit: int, most: float) -> None:
    """At 96K there is no room for the code of every fast kernel, so those of the least gain are left out. At 192K
    filters that are transformed in the call, and three kernels that save little, leave room for larger tiles elsewhere:
    7.85 million, the fewest of all sets of kernels. Two of the three leave too little, so that each step loses."""
    compiled = _ic(flash_bytes=limit << 10, cmsis_nn=paths.WITHOUT_CMSIS_NN)
    assert _flash_bytes(compiled) <= limit << 10
    assert _cost(compiled) <= most


def test_memory_as_the_goal_keeps_native_kernels_within_little_flash() -> None:
    """Weights are counted as the plan has them, where parts of whole tensors take smaller tiles."""
    compiled = _ic(Objective.RAM, flash_bytes=160 << 10)
    assert _flash_bytes(compiled) <= 160 << 10
    assert any(is_native(call.kernel) for call in compiled.schedule.all_calls)
    assert _cost(compiled) < 30e6


def _ad(goal: Objective = Objective.TIME, **more: object) -> Compiled:
    options = {"objective": goal, "cmsis_nn": paths.WITHOUT_CMSIS_NN, **more}
    return plan_model(model_file("ad01_int8"), Options(_M4.name, **options), shared=_SHARED)  # type: ignore[arg-type]


def _packed(compiled: Compiled) -> int:
    return sum(isinstance(call.kernel, CompactFullyConnected) for call in compiled.schedule.all_calls)


def test_weights_are_packed_where_the_flash_demands_it() -> None:
    """Anomaly detection from 216 to 312 KB: none where all fit, and none when off."""
    found = [(limit, _ad(flash_bytes=limit << 10)) for limit in range(216, 328, 16)]
    for limit, compiled in found:
        assert _flash_bytes(compiled) <= limit << 10
    assert _packed(found[0][1]) > 5 and _packed(found[-1][1]) == 0
    costs = [_cost(compiled) for _, compiled in found]
    assert all(less >= more for less, more in pairwise(costs))
    assert costs[0] < 3.8 * costs[-1]
    assert _packed(_ad(flash_bytes=216 << 10, packs_constants=False)) == 0
    assert _packed(_ad()) == _packed(_ad(Objective.SIZE)) == 0


def test_weights_have_huffman_codes_where_the_bits_of_blocks_do_not_fit() -> None:
    """Anomaly detection in 182,000 bytes of constants at 8 times the instructions at most; Vela's codec has 184,384."""
    fast, small = _ad(), _ad(flash_bytes=184 << 10)
    assert const_bytes(small.schedule) <= 182_000 and _flash_bytes(small) <= 184 << 10
    assert sum(isinstance(call.kernel, FullyConnectedHuffmanS8) for call in small.schedule.all_calls) > 5
    assert _cost(small) < 8 * _cost(fast)


@pytest.mark.parametrize("goal", [Objective.RAM, Objective.BALANCED])
def test_memory_as_the_goal_takes_smaller_tables_as_long_as_they_fit(goal: Objective) -> None:
    """And no slices of channels, whose weights would not be packed; then what time as the goal takes."""
    small, fitting = _ad(goal, flash_bytes=188 << 10), _ad(goal, flash_bytes=184 << 10)
    time = _ad(flash_bytes=188 << 10)
    assert small.schedule.arena_bytes < time.schedule.arena_bytes
    assert small.toolbox.objective is fitting.toolbox.objective is goal
    for compiled, limit in ((small, 188), (fitting, 184)):
        assert _flash_bytes(compiled) <= limit << 10
        packed = [growth for _, growth in compiled.toolbox.growths if growth in PACKED]
        assert _packed(compiled) == len(packed) > 7


@pytest.mark.parametrize("goal", list(Objective))
def test_the_smallest_of_all_is_planned_where_nothing_fits(goal: Objective) -> None:
    """So a refusal says what is missing."""
    compiled = _ad(goal, flash_bytes=100 << 10)
    assert const_bytes(compiled.schedule) <= 182_000 and _packed(compiled) == 10


@pytest.mark.parametrize("kernels", list(Kernels))
def test_all_choices_of_kernels_pack(kernels: Kernels) -> None:
    if kernels is Kernels.CMSIS_NN and paths.cmsis_nn(None) is None:
        pytest.skip("CMSIS-NN is not there: its choice is not tried")
    compiled = _ad(kernels=kernels, cmsis_nn=None, flash_bytes=240 << 10)
    assert const_bytes(compiled.schedule) < 240 << 10 and _packed(compiled)


@st.composite
def _vectors(draw: st.DrawFn) -> Graph:
    """Fully connected layers one after the other, with weights of any width."""
    build = GraphBuilder(draw(st.integers(0, 99)))
    tensor = build.input(1, draw(st.integers(8, 80)))
    for _ in range(draw(st.integers(1, 3))):
        tensor = build.fully_connected(tensor, draw(st.sampled_from([4, 8, 40])))
        op = build.ops[-1]
        assert isinstance(op, FullyConnected) and op.weights.data is not None
        data = (op.weights.data.astype(np.int64) >> draw(st.integers(0, 7))).astype(np.int8)
        build.ops[-1] = replace(op, weights=replace(op.weights, data=data))
    return build.graph(tensor)


@given(_vectors(), st.floats(0, 1))
@settings(max_examples=12, deadline=None)
def test_no_combination_with_packed_weights_is_faster(graph: Graph, share: float) -> None:
    packing = replace(_AUTO, packs_constants=True)
    layers = [op.operands[1] for op in graph.ops]
    ways = []
    for growths in product((0, PLAIN, SQUEEZED, HUFFMAN, SHORTEST), repeat=len(layers)):
        tools = replace(packing, tallest_tile=0, growths=tuple(zip(layers, growths, strict=True)))
        schedule = plan(graph, _M4, tools)
        ways.append((const_bytes(schedule), estimated_instructions(schedule, Library.PORTABLE)))
    least, most = min(bytes for bytes, _ in ways), max(bytes for bytes, _ in ways)
    limit = int(least + share * (most - least))
    _, schedule = planned_within(limit, graph.ops, packing, lambda tools: plan(graph, _M4, tools))
    assert const_bytes(schedule) <= limit
    fastest = min(cost for bytes, cost in ways if bytes <= limit)
    assert estimated_instructions(schedule, Library.PORTABLE) <= fastest * (1 + 1e-9)


def test_a_limit_that_nothing_fits_ends_with_the_plain_kernels() -> None:
    build = GraphBuilder()
    graph = build.graph(build.conv(build.input(1, 8, 8, 8), 8, HW(3, 3)))
    toolbox, schedule = planned_within(1, graph.ops, _AUTO, lambda tools: plan(graph, _M4, tools))
    assert not toolbox.has_native_kernels and const_bytes(schedule) > 1


def test_without_plain_kernels_to_choose_from_none_are_chosen() -> None:
    """--kernels native."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.input(1, 8, 8, 8), 8, HW(3, 3)))
    native = replace(_AUTO, chooses_by_cost=False)
    planned: list[Toolbox] = []

    def planning(tools: Toolbox) -> Schedule:
        planned.append(tools)
        return plan(graph, _M4, tools)

    toolbox, _ = planned_within(1, graph.ops, native, planning)
    assert toolbox.has_native_kernels and all(tile >= 0 for tools in planned for _, tile in tools.growths)


def test_ic_stops_at_what_a_percent_may_cost() -> None:
    """At 8K, about a tenth of its plain constants, it takes a third of what helps; with 512K of flash all of that."""
    some, all = _ic(flash_per_percent=8 << 10), _ic(flash_bytes=512 << 10)
    assert const_bytes(some.schedule) < const_bytes(all.schedule) / 3
    assert _cost(some) < 1.3 * _cost(all)
    everything = _ic(flash_bytes=512 << 10, flash_per_percent=1 << 30)
    assert const_bytes(everything.schedule) == const_bytes(all.schedule)


def test_without_a_rate_a_percent_may_cost_a_tenth_of_the_plain_constants() -> None:
    """Image classification: 81,432 bytes are plain, and 442,880 what helps; -O balanced is no larger."""
    plain = const_bytes(_ic(Objective.SIZE).schedule)
    time, balanced = _ic(), _ic(Objective.BALANCED)
    for found in (time, balanced):
        assert const_bytes(found.schedule) < 2 * plain
    assert const_bytes(time.schedule) == const_bytes(_ic(flash_per_percent=plain // 10).schedule)
    assert _cost(time) < 1.3 * _cost(_ic(flash_bytes=512 << 10))


def test_equal_ways_are_told_apart_by_their_bytes() -> None:
    points = [(10, 5.0), (10, 4.0), (8, 4.0), (12, 4.0), (9, inf)]
    assert growth._unbeaten(points, lambda point: point) == [(8, 4.0)]


def test_a_rate_that_is_none() -> None:
    ended = tinygen("inspect", DIGITS, "--flash-per-percent", "0")
    assert ended.code == 2 and "size '0': is not a positive number of bytes" in ended.stderr


def test_tiles_are_looked_at_where_they_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way is a choice of kernels, which took half of the time of a point of a sweep; what is left out is alike."""
    build = GraphBuilder(1)
    tensor = build.conv(build.input(1, 8, 8, 8), 8, HW(3, 3))
    graph = build.graph(build.depthwise(build.conv(tensor, 16)))
    looked_at: Counter[str] = Counter()

    def counting(op: Op, toolbox: Toolbox) -> Kernel:
        looked_at[op.name] += 1
        return select(op, toolbox)

    monkeypatch.setattr(growth, "select", counting)
    chosen = exchanging(graph.ops, _AUTO, flash_per_percent=100)
    tiled, *others = (looked_at[op.name] for op in graph.ops)
    monkeypatch.setattr(growth, "may_be_tiled", lambda _: True)
    assert exchanging(graph.ops, _AUTO, flash_per_percent=100) == chosen
    assert tiled > 2 * max(others)
    assert all(looked_at[op.name] - count == tiled for op, count in zip(graph.ops, (tiled, *others), strict=True))
