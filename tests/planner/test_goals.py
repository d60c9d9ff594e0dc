"""What each goal takes from the curve of RAM against instructions: on any curve, and on random networks."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, images
from tests.support.models import model_file
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.options import Options
from tinygen.pipeline import plan_model
from tinygen.planner.memory.effort import BUDGETS
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.search import search_work, segmentation, splitting
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

    def fastest(limit: int, below: float) -> Tradeoff | None:
        asked.append(limit)
        found = next((point for point in reversed(curve) if point.bytes <= limit), None)
        return found if found and found.instructions < below else None

    def may_run(limit: int, instructions: float) -> bool:
        return known * min(point.instructions for point in curve if point.bytes <= limit) < instructions

    chosen = chosen_for_ram(looked_for_ram(least, room, fastest, may_run))
    cheapest = min(point.product for point in curve if point.bytes <= room)
    assert chosen.bytes <= room
    assert chosen.product <= _NEAR**2 * cheapest
    assert len(asked) == len(set(asked)), "nothing is looked for twice"
    assert len(asked) <= 2 * slack / CURVE_STEP + 2


def test_of_points_that_cost_the_same_the_smallest_is_taken() -> None:
    assert chosen_for_ram([Tradeoff(100, 1000), Tradeoff(105, 940), Tradeoff(110, 700)]) == Tradeoff(110, 700)
    assert chosen_for_ram([Tradeoff(100, 1000), Tradeoff(105, 940)]) == Tradeoff(100, 1000)


def test_where_nothing_has_room_nothing_is_looked_for() -> None:
    assert list(looked_for_ram(100, 110, lambda *_: None, lambda *_: True)) == []


@pytest.mark.parametrize(
    ("slack", "limit", "room"), [(0.0, None, 1000), (0.1, None, 1100), (0.1, 1050, 1050), (0.1, 900, 1000)]
)
def test_room_is_no_more_than_a_limit_leaves(slack: float, limit: int | None, room: int) -> None:
    assert room_bytes(1000, slack, limit) == room


def test_balanced_spends_no_more_than_it_says() -> None:
    assert 1 < most_balanced(1.0) <= 1 + BALANCED_EXTRA


@given(st.one_of(images(), bottlenecks()), st.sampled_from(["mps2-an386", "mps3-an547"]))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_slack_is_counted_from_the_smallest_arena(graph: Graph, name: str) -> None:
    """Which slack 0 takes."""
    board = targets.load(name)
    toolbox = Toolbox(Library.CMSIS_NN, board.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    plans = [plan(graph, board, toolbox, PlanRequest(slack=slack)) for slack in _SLACKS]
    for slack, found in zip(_SLACKS, plans, strict=True):
        assert plans[0].arena_bytes <= found.arena_bytes <= room_bytes(plans[0].arena_bytes, slack)


@given(st.one_of(images(), bottlenecks()), st.floats(0, 1))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_balanced_plan_keeps_any_limit_that_can_be_kept(graph: Graph, share: float) -> None:
    """From the smallest arena to the one that it takes without a limit; within that nothing changes."""
    balanced, smallest = (Toolbox(Library.PORTABLE, _M4.isa, goal) for goal in (Objective.BALANCED, Objective.RAM))
    most, least = (plan(graph, _M4, tools).arena_bytes for tools in (balanced, smallest))
    limit = int(least + share * (most - least))
    assert plan(graph, _M4, balanced, PlanRequest(limit)).arena_bytes <= limit
    assert plan(graph, _M4, balanced, PlanRequest(most)).arena_bytes == most


@pytest.mark.parametrize("limit_bytes", [8 << 10, 12 << 10])
def test_balance_ends_where_memory_does(limit_bytes: int) -> None:
    """Keyword spotting takes 16,512 bytes where balance is the goal, and has run in half of that with others."""
    options = Options(_M4.name, objective=Objective.BALANCED, ram_bytes=limit_bytes)
    schedule = plan_model(model_file("kws_ref_model"), options).schedule
    assert schedule.arena_bytes <= limit_bytes


@pytest.mark.parametrize("limit_bytes", [None, 1])
def test_one_library_alone_takes_its_smallest_arena(limit_bytes: int | None) -> None:
    """There is nothing to choose from that slack could be for."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.depthwise(build.conv(build.input(1, 16, 16, 4), 16)), 8))
    toolbox = Toolbox(Library.PORTABLE, _M4.isa, Objective.RAM)
    arenas = {plan(graph, _M4, toolbox, PlanRequest(limit_bytes, slack=slack)).arena_bytes for slack in _SLACKS}
    assert len(arenas) == 1


@given(st.one_of(images(), bottlenecks()))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_more_effort_never_gives_a_larger_arena(graph: Graph) -> None:
    """A quarter of it, what is usual, and four times as much."""
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    arenas = []
    for times in (0.25, 1.0, 4.0):
        with pytest.MonkeyPatch.context() as patch:
            _scale_effort(patch, times)
            arenas.append(plan(graph, _M4, toolbox, PlanRequest(slack=0.0)).arena_bytes)
    assert arenas == sorted(arenas, reverse=True)


def _scale_effort(patch: pytest.MonkeyPatch, times: float) -> None:
    """All budgets of placements and of what is tried."""
    for effort, budget in BUDGETS.items():
        moves, nodes = (int(times * count) for count in (budget.moves, budget.nodes))
        patch.setitem(BUDGETS, effort, replace(budget, moves=moves, nodes=nodes))
    for name in ("MOST_TRIES", "MOST_IN_VAIN"):
        patch.setattr(splitting, name, int(times * getattr(search_work, name)))
    patch.setattr(segmentation, "MOST_LOOKS", int(times * search_work.MOST_LOOKS))
