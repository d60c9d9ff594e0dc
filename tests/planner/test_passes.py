"""Chains that find a range first and then run through their rows again."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.support.dynamic_layers import in_a_row, samples
from tests.support.graphs import GraphBuilder
from tests.support.reference import evaluate
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.build.execute import execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.dynamic_quantize import DynamicRange, RangeRule
from tinygen.ops.running_range import ScaleOfRange
from tinygen.planner.chains.passes import passes_of
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule

_ASYMMETRIC, _LITERT = RangeRule.ASYMMETRIC, RangeRule.LITERT_ASYMMETRIC
_TARGETS = [
    pytest.param("host", _ASYMMETRIC, True, id="host-sanitized"),
    pytest.param("host", _LITERT, True, id="host-sanitized-litert"),
    pytest.param("mps2-an386", _ASYMMETRIC, False, id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps3-an547", _LITERT, False, id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]


def _planned(graph: Graph, request: PlanRequest, target: str = "mps2-an386") -> Schedule:
    verify(graph, "test")
    board = targets.load(target)
    toolbox = Toolbox(Library.PORTABLE, board.isa, Objective.RAM)
    return plan(graph, board, toolbox, request)


def _macs(schedule: Schedule) -> int:
    return sum(call.op.macs for call in schedule.calls)


@pytest.mark.parametrize("rule", RangeRule)
def test_levels_are_made_row_by_row_once_their_range_is_known(rule: RangeRule) -> None:
    """Each layer twice takes no tensor of real numbers; without multiplications to spare, nothing is done twice."""
    graph = in_a_row(3, rule)
    whole, once = _planned(graph, PlanRequest(may_split=False)), _planned(graph, PlanRequest())
    twice = _planned(graph, PlanRequest(extra_macs=graph.macs))
    assert _macs(whole) == _macs(once) == graph.macs < _macs(twice) <= 2 * graph.macs
    levels = [t.type.bytes for t in graph.tensors if t.name.startswith("levels")]
    assert twice.arena_bytes < 1.4 * max(a + b for a, b in pairwise(levels))
    assert 2 * twice.arena_bytes < once.arena_bytes <= whole.arena_bytes
    assert any(isinstance(call.op, ScaleOfRange) for call in twice.calls)
    for sample in samples(graph, seed=1, number=3):
        expected = evaluate(graph, sample)
        for schedule in (whole, once, twice):
            for found, wanted in zip(interpret(schedule, sample), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_a_few_multiplications_are_spent_where_they_save_most() -> None:
    graph = in_a_row(4, RangeRule.ASYMMETRIC)
    for share in (0.1, 0.3, 0.6):
        schedule = _planned(graph, PlanRequest(extra_macs=int(share * graph.macs)))
        assert _macs(schedule) <= (1 + share) * graph.macs


def test_an_input_that_is_given_once_is_not_asked_for_again() -> None:
    graph = in_a_row(5, RangeRule.ASYMMETRIC)
    schedule = _planned(graph, PlanRequest(extra_macs=graph.macs, fetches_input=True))
    (sample,) = samples(graph, seed=2, number=1)
    np.testing.assert_array_equal(interpret(schedule, sample)[0], evaluate(graph, sample)[0])


def test_passes_end_where_a_result_is_needed_whole() -> None:
    """Two layers: what the first range takes runs three times, what lies between the ranges twice."""
    graph = in_a_row(6, RangeRule.SYMMETRIC)
    ops = graph.ops[1:11]  # levels of the input to the second layer's levels
    kinds = [type(op).__name__ for op in ops]
    assert kinds[4:9] == [
        "DynamicQuantize",
        "IntegerDepthwiseConv2D",
        "DequantizeSums",
        "DynamicRange",
        "DynamicQuantize",
    ]
    rings: set[Tensor] = {op.results[0] for op in ops[:-2] if not isinstance(op, DynamicRange)}
    found = passes_of(ops[:9], rings)
    assert [type(op) for op in found.first] == [DynamicRange, DynamicRange]
    assert [found.times[op] for op in ops[:9]] == [3, 3, 3, 1, 2, 2, 2, 1, 1]
    assert found.extra_macs == 2 * ops[1].macs + ops[5].macs
    assert passes_of(ops[4:7], rings).extra_macs == 0


@pytest.mark.parametrize(("target", "rule", "sanitized"), _TARGETS)
def test_c_finds_ranges_and_means_as_rows_come(target: str, rule: RangeRule, sanitized: bool, tmp_path: Path) -> None:
    graph = in_a_row(7, rule)
    schedule = _planned(graph, PlanRequest(extra_macs=graph.macs), target)
    toolchain = for_board(schedule.board, sanitizers=[Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    trees = (kernel_library(Library.PORTABLE, None), operators(), native())
    files = render(schedule, "net", "net")
    assert {"tg_widen_range_f32", "tg_sum_rows_f32"} <= {call.kernel.function for call in schedule.calls}
    image = build_firmware(schedule, "net", files, trees, toolchain, tmp_path, Measure.INSTRUCTIONS, MemoryLimits())
    drawn = list(samples(graph, seed=3, number=4))
    for sample, (found,) in zip(drawn, execute(image, schedule, drawn).outputs, strict=True):
        np.testing.assert_array_equal(found, evaluate(graph, sample)[0])


def test_what_is_added_up_over_operators_is_so_in_their_order() -> None:
    """Sums of prices are rounded: in another order, ties between plans would fall differently from run to run."""
    build = GraphBuilder()
    tensor = build.input(1, 8, 8, 4)
    for _ in range(24):
        tensor = build.conv(tensor, 4)
    passes = passes_of(build.ops, set())
    assert list(passes.times) == list(build.ops)
