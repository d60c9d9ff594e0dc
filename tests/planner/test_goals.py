"""What each goal takes from the curve of RAM against instructions: on any curve, and on random networks."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, images
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.search.goals import (
    BALANCED_EXTRA,
    CURVE_STEP,
    Tradeoff,
    chosen_for_ram,
    looked_for_ram,
    most_balanced,
    room_bytes,
)

_M4 = targets.load("mps2-an386")
_NEAR = 1 + CURVE_STEP
_SLACKS = (0.0, 0.02, 0.1, 0.4)


@st.composite
def _curves(draw: st.DrawFn) -> list[Tradeoff]:
    """From the smallest arena up, each next point with fewer instructions."""
    points = [Tradeoff(draw(st.integers(1, 100_000)), draw(st.integers(1, 10**9)))]
    for _ in range(draw(st.integers(0, 12))):
        more = 1 + draw(st.integers(0, points[-1].bytes // 10))
        points.append(Tradeoff(points[-1].bytes + more, points[-1].instructions * draw(st.floats(0.1, 0.999))))
    return points


@given(_curves(), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=300)
def test_nothing_that_is_left_out_is_cheaper(curve: list[Tradeoff], slack: float, known: float) -> None:
    """However good the bound is: from nothing known to all of it."""
    least = curve[0].bytes
    room = room_bytes(least, slack)
    asked: list[int] = []

    def fastest(limit: int) -> Tradeoff | None:
        asked.append(limit)
        return next((point for point in reversed(curve) if point.bytes <= limit), None)

    def fewest(limit: int) -> float:
        return known * min(point.instructions for point in curve if point.bytes <= limit)

    chosen = chosen_for_ram(looked_for_ram(least, room, fastest, fewest))
    cheapest = min(point.product for point in curve if point.bytes <= room)
    assert chosen.bytes <= room
    assert chosen.product <= _NEAR**2 * cheapest
    assert len(asked) == len(set(asked)), "nothing is looked for twice"
    assert len(asked) <= 2 * slack / CURVE_STEP + 2


def test_of_points_that_cost_the_same_the_smallest_is_taken() -> None:
    assert chosen_for_ram([Tradeoff(100, 1000), Tradeoff(105, 940), Tradeoff(110, 700)]) == Tradeoff(110, 700)
    assert chosen_for_ram([Tradeoff(100, 1000), Tradeoff(105, 940)]) == Tradeoff(100, 1000)


def test_where_nothing_has_room_nothing_is_looked_for() -> None:
    assert list(looked_for_ram(100, 110, lambda _: None, lambda _: 0.0)) == []


@pytest.mark.parametrize(
    ("slack", "limit", "room"), [(0.0, None, 1000), (0.1, None, 1100), (0.1, 1050, 1050), (0.1, 900, 1000)]
)
def test_room_is_no_more_than_a_limit_leaves(slack: float, limit: int | None, room: int) -> None:
    assert room_bytes(1000, slack, limit) == room


def test_balanced_spends_no_more_than_it_says() -> None:
    assert 1 < most_balanced(1.0) <= 1 + BALANCED_EXTRA


@given(st.one_of(images(), bottlenecks()), st.sampled_from(["mps2-an386", "mps3-an547"]))
@settings(max_examples=10, deadline=None)
def test_more_slack_takes_no_more_than_it_may_and_costs_no_more(graph: Graph, name: str) -> None:
    """Slack 0 is the smallest arena, with a step of the curve between what two searches find."""
    board = targets.load(name)
    toolbox = Toolbox(Library.CMSIS_NN, board.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    plans = [plan(graph, board, toolbox, PlanRequest(slack=slack)) for slack in _SLACKS]
    points = [Tradeoff(p.arena_bytes, estimated_instructions(p, toolbox.library)) for p in plans]
    for slack, point in zip(_SLACKS, points, strict=True):
        assert points[0].bytes <= point.bytes <= room_bytes(points[0].bytes, slack)
    for less, more in pairwise(points):
        assert more.product <= _NEAR**2 * less.product


@pytest.mark.parametrize("limit_bytes", [None, 1])
def test_one_library_alone_takes_its_smallest_arena(limit_bytes: int | None) -> None:
    """There is nothing to choose from that slack could be for."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.depthwise(build.conv(build.input(1, 16, 16, 4), 16)), 8))
    toolbox = Toolbox(Library.PORTABLE, _M4.isa, Objective.RAM)
    arenas = {plan(graph, _M4, toolbox, PlanRequest(limit_bytes, slack=slack)).arena_bytes for slack in _SLACKS}
    assert len(arenas) == 1
