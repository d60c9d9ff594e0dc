"""What less RAM costs: from whole tensors down, every point right, smaller and dearer than the one before."""

from functools import cache
from math import isqrt

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.options import options_from_text
from tinygen.pipeline import compile_model
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.plan import CurvePoint, PlanRequest, curve, plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.search import splitting
from tinygen.report.curve import RESIDENT, curve_picture, curve_rows, curve_table
from tinygen.tasks import inspection

_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.TIME)


@cache
def _tower() -> Graph:
    build = GraphBuilder()
    tensor = build.input(1, 24, 24, 2)
    for channels, stride in ((8, 2), (6, 1), (8, 1), (4, 2)):
        tensor = build.depthwise(build.conv(tensor, channels, HW(3, 3), HW(stride, stride)))
    return build.graph(build.softmax(build.fully_connected(tensor, 10)))


@cache
def _points(fetches_input: bool) -> tuple[CurvePoint, ...]:
    return curve(_tower(), _M4, _TOOLBOX, PlanRequest(fetches_input=fetches_input))


@pytest.mark.parametrize("fetches_input", [False, True])
def test_every_point_is_right_and_none_is_in_vain(fetches_input: bool) -> None:
    graph = _tower()
    points = _points(fetches_input)
    assert len(points) > 3
    whole = plan(graph, _M4, _TOOLBOX, PlanRequest(may_split=False, fetches_input=fetches_input))
    assert points[0].schedule.arena_bytes == whole.arena_bytes
    sizes = [point.schedule.arena_bytes for point in points]
    costs = [point.instructions for point in points]
    assert sizes == sorted(set(sizes), reverse=True)
    assert costs[1:] == sorted(set(costs[1:]))
    smallest = plan(
        graph, _M4, Toolbox(_TOOLBOX.library, _M4.isa, Objective.RAM), PlanRequest(None, True, fetches_input)
    )
    assert sizes[-1] == smallest.arena_bytes
    inputs = random_inputs(graph, seed=3)
    expected = evaluate(graph, inputs)
    for point in points:
        for tensor, value in zip(graph.output_tensors, interpret(point.schedule, inputs), strict=True):
            np.testing.assert_array_equal(value, expected[tensor])


def test_without_work_left_a_curve_has_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "MOST_OF_CURVE", 1)
    monkeypatch.setattr(splitting, "_FOR_SMALLEST", 1 << 20)  # all is left for the smaller end
    points = curve(_tower(), _M4, _TOOLBOX, PlanRequest())
    assert len(points) == 2
    ends = _points(False)[0], _points(False)[-1]
    assert [p.schedule.arena_bytes for p in points] == [p.schedule.arena_bytes for p in ends]


def test_more_work_gives_more_of_what_lies_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next look is where most bytes and most instructions lie between two plans."""
    looks: list[int] = []
    fastest = splitting._Planner.fastest

    def counting(self: splitting._Planner, limit_bytes: int, *_: object) -> Schedule | None:
        looks.append(limit_bytes)
        return fastest(self, limit_bytes)

    monkeypatch.setattr(splitting._Planner, "fastest", counting)
    whole, *_, least = (point.schedule.arena_bytes for point in curve(_tower(), _M4, _TOOLBOX, PlanRequest()))
    assert looks[0] >= least, "what runs in the arena of the smallest segmentation may take less"
    assert looks[1] == isqrt(least * whole)
    assert all(least <= limit < whole for limit in looks)
    assert len(looks) <= 24  # 12


@pytest.mark.parametrize("fraction", [0.0, 0.4, 0.8])
def test_a_limit_between_the_ends_gives_a_plan_that_fits(fraction: float) -> None:
    graph = _tower()
    sizes = [point.schedule.arena_bytes for point in _points(False)]
    limit = round(sizes[-1] + fraction * (sizes[0] - sizes[-1]))
    assert plan(graph, _M4, _TOOLBOX, PlanRequest(limit)).arena_bytes <= limit


def test_a_network_that_nothing_makes_smaller_has_one_point_and_no_picture() -> None:
    build = GraphBuilder()
    graph = build.graph(build.fully_connected(build.input(1, 64), 8))
    points = curve(graph, _M4, _TOOLBOX, PlanRequest())
    assert [point.schedule.arena_bytes for point in points] == [72]
    assert curve_picture(curve_rows({RESIDENT: points})) is None


def test_the_picture_goes_up_where_the_arena_gets_smaller() -> None:
    rows = curve_rows({RESIDENT: _points(False)})
    picture = curve_picture(rows)
    assert picture is not None
    [line] = picture.lines
    assert [dot.row for dot in line.dots] == list(reversed(rows))
    assert all(a.x < b.x and a.y <= b.y for a, b in zip(line.dots, line.dots[1:], strict=False))
    assert all(picture.left < dot.x < picture.right and picture.top < dot.y <= picture.bottom for dot in line.dots)


def test_all_rows_count_from_the_fastest_and_the_chosen_plan_is_one_of_them() -> None:
    options = options_from_text("mps2-an386")
    compiled = compile_model(shared_file("models/mlperf_tiny/kws_ref_model.tflite"), options)
    rows = inspection.curve(compiled)
    assert min(row.extra_instructions for row in rows) == 0
    shown = curve_table(rows).html
    assert all(f"{row.arena_bytes:,}" in shown and f"{row.const_bytes:,}" in shown for row in rows)
    assert len({row.instructions - row.extra_instructions for row in rows}) == 1
    (chosen,) = (row for row in rows if row.chosen)
    assert (chosen.input, chosen.arena_bytes) == (RESIDENT, compiled.schedule.arena_bytes)
    assert chosen.instructions == round(estimated_instructions(compiled.schedule, compiled.library))


def test_the_curve_is_the_same_each_time() -> None:
    graph = _tower()
    request = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=graph.macs // 10)
    first, second = (curve(graph, _M4, _TOOLBOX, request) for _ in range(2))
    assert [point.instructions for point in first] == [point.instructions for point in second]
    for one, other in zip(first, second, strict=True):
        assert render(one.schedule, "net", "net.tflite") == render(other.schedule, "net", "net.tflite")
