"""What searches take on any input: tall tensors, long chains, wide networks, counted in steps."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.networks import mobilenet_v2, over_time
from tests.support.number_models import CASES, model_of
from tests.support.steps import counted
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.options import Kernels, Options
from tinygen.pipeline import plan_model
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.row_bounds import RowBounds, RowWalks
from tinygen.planner.chains.segment import Segment
from tinygen.planner.chains.strip_bounds import CutChain
from tinygen.planner.plan import PlanRequest, curve, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.search import findings, sketches
from tinygen.planner.search.search_work import MOST_OF_PLAN, MOST_OF_SMALLEST, SearchWork, least_rows, longest_chain

_M4 = targets.load("mps2-an386")
_MOST_STEPS = 20_000_000  # about 8 million
_MOST_STEPS_OF_FEW = 25_000_000  # where next to no work is left from the start: 9 million, 22 for 120 layers
_MOST_STEPS_OF_STRIPS = 47_000_000  # about 42 million
_MOST_STEPS_OF_LAYOUTS = 10_000_000  # about 5 million; 46 where no work ends them
_INPUTS = {
    "resident": PlanRequest(),
    "streamed": PlanRequest(fetches_input=True),
    "rereadable": PlanRequest(fetches_input=True, rereads_input=True, extra_macs=10**6),
}


def _toolbox(objective: Objective) -> Toolbox:
    return Toolbox(Library.CMSIS_NN, _M4.isa, objective, has_native_kernels=True, chooses_by_cost=True)


def _fan(width: int) -> Graph:
    """As many branches from one input, joined two by two."""
    build = GraphBuilder()
    image = build.input(1, 8, 4, 4)
    joined, *branches = [build.conv(image, 4) for _ in range(width)]
    for branch in branches:
        joined = build.add(joined, branch)
    return build.graph(joined)


def _steps(graph: Graph, objective: Objective, request: PlanRequest, most: int) -> int:
    with counted(most) as steps:
        schedule = plan(graph, _M4, _toolbox(objective), request)
    check(schedule)
    return steps.count


@pytest.mark.parametrize("rows", [1_000, 8_000])
def test_tall_tensors(rows: int) -> None:
    """Without larger calls these took 28 s, and hours."""
    print(_steps(over_time(4, rows), Objective.RAM, _INPUTS["resident"], _MOST_STEPS), "steps")


@pytest.mark.parametrize(("objective", "input"), list(product(Objective, _INPUTS)))
def test_every_objective_and_input(objective: Objective, input: str) -> None:
    print(_steps(over_time(2, 2_000), objective, _INPUTS[input], _MOST_STEPS), "steps")


@pytest.mark.slow
def test_strips_of_a_network_that_takes_all_the_work() -> None:
    """That of benchmarks/planning.md, which may do 5 % again: more than 170 s once."""
    graph = mobilenet_v2(144, width=0.35)
    request = replace(_INPUTS["rereadable"], extra_macs=graph.macs // 20)
    print(_steps(graph, Objective.RAM, request, _MOST_STEPS_OF_STRIPS), "steps")


@pytest.mark.parametrize("objective", [Objective.RAM, Objective.BALANCED])
@pytest.mark.parametrize("graph", [over_time(24, 16), over_time(120, 8), _fan(24)], ids=["chain", "long", "fan"])
def test_without_work_left_there_is_a_plan(graph: Graph, objective: Objective, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SearchWork, "is_left", False)
    print(_steps(graph, objective, _INPUTS["resident"], _MOST_STEPS_OF_FEW), "steps")


def test_searches_share_what_needs_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search with the library's kernels alone follows no rows back, and cuts no chain, that the other one did."""
    made, asked = Counter[tuple[object, ...]](), Counter[str]()
    walks, cut, bounds = RowWalks, CutChain.of, RowBounds

    def counted_walks(network: Network, *how: int) -> RowWalks:
        made[network.derived, *how] += 1
        return walks(network, *how)

    def counted_cut(network: Network, segment: Segment, strips: int) -> CutChain | None:
        made[network.derived, segment, strips] += 1
        return cut(network, segment, strips)

    def counted_bounds(network: Network, known: RowWalks) -> RowBounds:
        asked["bounds"] += 1
        return bounds(network, known)

    monkeypatch.setattr(findings, "RowWalks", counted_walks)
    monkeypatch.setattr(CutChain, "of", counted_cut)
    monkeypatch.setattr(sketches, "RowBounds", counted_bounds)
    plan(mobilenet_v2(64, width=0.5, classes=10), _M4, _toolbox(Objective.RAM), PlanRequest(extra_macs=10**6))
    walked = sum(isinstance(key[1], int) for key in made)  # the others name chains
    assert set(made.values()) == {1} and len(made) > walked > 0, "nothing twice"
    assert asked["bounds"] == 2 * walked, "two searches"


def test_who_watches_is_told_what_is_searched_and_the_best_so_far() -> None:
    told: list[tuple[str, int, int]] = []
    request = PlanRequest(watch=lambda sought, done, total: told.append((sought, done, total)))
    schedule = plan(over_time(4, 200), _M4, _toolbox(Objective.RAM), request)
    texts, done = [text for text, _, _ in told], [units for _, units, _ in told]
    assert texts[0] == "the smallest arena"
    assert any(text.startswith("the fewest instructions in ") for text in texts)
    best = [int(text.split()[-2].replace(",", "")) for text in texts if "best so far" in text]
    assert best == sorted(best, reverse=True) and 0 < best[-1] <= schedule.arena_bytes
    assert done == sorted(done) and 0 < done[-1] < MOST_OF_PLAN
    assert {total for _, _, total in told} == {MOST_OF_PLAN}


@pytest.mark.parametrize(("slack", "most"), [(0.0, MOST_OF_SMALLEST), (0.01, MOST_OF_PLAN)])
def test_the_smallest_arena_may_take_longer(slack: float, most: int) -> None:
    totals: set[int] = set()
    request = PlanRequest(slack=slack, watch=lambda _sought, _done, total: totals.add(total))
    plan(over_time(4, 40), _M4, _toolbox(Objective.RAM), request)
    assert totals == {most}


def test_long_searches_say_how_far_they_are() -> None:
    told: list[int] = []
    work = SearchWork(1 << 24, watch=lambda _sought, done, _total: told.append(done))
    for _ in range(1000):
        work.spend(100)
    assert 5 <= len(told) <= 10 and told[-1] > 80_000


def test_the_curve_of_tall_tensors() -> None:
    with counted(_MOST_STEPS) as steps:
        points = curve(over_time(4, 1_000), _M4, _toolbox(Objective.TIME), PlanRequest())
    assert len(points) > 1
    print(steps.count, "steps")


def test_as_many_rows_a_call_as_leave_little_to_look_at() -> None:
    assert least_rows([112, 56, 28, 14, 1]) == [1] * 5
    assert least_rows([]) == []
    assert least_rows([1] * 5_000) == [1] * 5_000
    assert least_rows([500] * 4) == [2] * 4
    assert least_rows([8_000] * 4) == [32] * 4
    assert least_rows([8_000, 40]) == [16, 1]
    for heights in ([16_384] * 4, [64] * 1_000, [8_000] * 120):
        calls = [-(-height // rows) for height, rows in zip(heights, least_rows(heights), strict=True)]
        assert sum(calls) <= 4_096
        assert sum(count * count for count in calls) <= 2**18


def test_chains_that_are_looked_at_grow_no_more_than_networks_do() -> None:
    """As long as there is one for each call."""
    assert longest_chain(66) == longest_chain(100) == 80
    chains = [calls * longest_chain(calls) for calls in (100, 200, 400, 1_000, 4_000)]
    assert all(later <= 1.1 * sooner for sooner, later in pairwise(chains))


def test_layouts_of_a_wide_network_share_their_work(tmp_path: Path) -> None:
    """Copies that may or may not be left out make 32 layouts of it, whose bounds no placement meets: it took a hundred
    seconds."""
    file = tmp_path / "wide.tflite"
    file.write_bytes(model_of([*CASES], seed=3).finish())
    options = Options("host", kernels=Kernels.PORTABLE, allow_float=True)
    with counted(_MOST_STEPS_OF_LAYOUTS) as steps:
        plan_model(file, options)
    print(steps.count, "steps")
