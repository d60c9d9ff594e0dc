"""No goal's plan is beaten at its own aim by a plan that another goal gives: of models, and of random networks."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.goals import BOARDS, GOALS, Plan, broken, planned, plans_of
from tests.support.graphs import bottlenecks, images
from tests.support.models import model_file
from tests.support.shared import shared_file
from tests.support.tools import requires_cmsis
from tinygen import paths, targets
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import has_kernel
from tinygen.options import Options
from tinygen.passes import run
from tinygen.pipeline import choose_library
from tinygen.planner.cost.choice import instructions, select
from tinygen.planner.cost.cost import costs
from tinygen.planner.plan import for_graph, plan
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.goals import ESTIMATES_OFF

_QUICK = ("open/tflm_hello_world_int8", "mlperf_tiny/ad01_int8", "open/tflm_micro_speech_int8")


def _toolbox(board: targets.Board, goal: Objective) -> Toolbox:
    """As `--kernels auto` has it."""
    is_small = goal is Objective.SIZE
    return Toolbox(
        Library.PORTABLE if is_small else Library.CMSIS_NN,
        board.isa,
        goal,
        has_native_kernels=not is_small,
        chooses_by_cost=True,
        tallest_tile=0 if is_small else 4,
        has_thumb2=board.has_thumb2,
    )


def _planned(graph: Graph, board: targets.Board, goal: Objective) -> Plan:
    """Where memory is the goal, portable kernels are planned with, too: their results may lie over what they read."""
    own = _toolbox(board, goal)
    toolboxes = [own, replace(own, library=Library.PORTABLE)] if goal is Objective.RAM else [own]
    found = [planned(plan(graph, board, tools), tools) for tools in toolboxes]
    return min(found, key=lambda each: each.arena_bytes)


@given(st.one_of(images(), bottlenecks()), st.sampled_from(BOARDS))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_random_networks(graph: Graph, name: str) -> None:
    """Of time whole tensors are compared: where these fit, loops that would save a tenth are not looked for.

    Nor are those of -O size: calls for a few pixels may be shorter in portable C, which is not there beside CMSIS-NN.
    """
    board = targets.load(name)
    plans = {goal: _planned(graph, board, goal) for goal in GOALS}
    counts = {goal: found.is_whole and goal is not Objective.SIZE for goal, found in plans.items()}
    timed = {goal: found if counts[goal] else replace(found, instructions=inf) for goal, found in plans.items()}
    assert list(broken(timed)) == []


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", _QUICK)
def test_models(name: str, board: str) -> None:
    """All of them: `make bench-goals`."""
    assert list(broken(*plans_of(shared_file(f"models/{name}.tflite"), board))) == []


def test_what_breaks_a_goals_word() -> None:
    whole = Plan(1000, 1e6, 500, 9, is_whole=True)
    plans = dict.fromkeys(GOALS, whole)
    assert list(broken(plans)) == []
    better = replace(whole, arena_bytes=900, instructions=0.99e6, const_bytes=499)
    assert list(broken({**plans, Objective.BALANCED: better})) == [
        "-O time runs 1,000,000, -O balanced 990,000 instructions",
        "-O ram takes 1000, -O balanced 900 bytes of RAM",
        "-O size takes 500, -O balanced 499 bytes of constants",
    ]
    larger = replace(whole, instructions=0.9e6, const_bytes=1500)
    assert list(broken({**plans, Objective.BALANCED: larger}, price=110)) == []
    assert list(broken({**plans, Objective.BALANCED: larger}, price=90)) == [
        "-O time runs 1,000,000, -O balanced 900,000 instructions"
    ]
    assert list(broken({**plans, Objective.BALANCED: replace(larger, code_bytes=300)}, price=90)) == []


@pytest.mark.parametrize("name", ["ad01_int8", "kws_ref_model"])
@pytest.mark.parametrize("board", BOARDS)
def test_all_that_is_left_to_ranks_costs_no_more_than_estimates_may_be_off(name: str, board: str) -> None:
    """On Cortex-M0 each of ten layers took a little longer than with the library's kernel: 2.3 % together."""
    target, graph = targets.load(board), run(import_tflite(model_file(name)))
    toolbox = for_graph(graph, target, _toolbox(target, Objective.TIME), Solver.BUILTIN)
    found = costs(toolbox)
    cheapest = sum(
        min(found.call(op, select(op, tools)) for tools in (toolbox, replace(toolbox, uncertain=0.0)))
        for op in graph.ops
        if has_kernel(op)
    )
    assert instructions(graph.ops, toolbox) <= (1 + ESTIMATES_OFF) * cheapest


@requires_cmsis
def test_the_smallest_code_is_the_same_wherever_the_library_is_named() -> None:
    """`--cmsis-nn DIR` says where it is, `--kernels cmsis-nn` that it is wanted."""
    named = Options("mps2-an386", objective=Objective.SIZE, cmsis_nn=paths.cmsis_nn(None))
    assert choose_library(named) is Library.PORTABLE
    assert choose_library(replace(named, objective=Objective.TIME)) is Library.CMSIS_NN
