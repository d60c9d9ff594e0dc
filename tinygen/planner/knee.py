"""The balanced plan: the smallest arena for little more time, with constants in reason.

Of the plans whose constants take at most MOST_OF_PLAIN times those that the library's kernels read, the fastest says
what time is: of those that take little more (`search.goals`) the one with the smallest arena is taken. Weights are
grown, or left as they are, so that whole tensors keep that; chains may read some weights in two orders, and are planned
again with smaller ones, or left.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from math import inf
from typing import NamedTuple

from tinygen.ir.graph import Graph
from tinygen.kernels.base import Toolbox
from tinygen.planner.cost.choice import instructions
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.cost.growth import growing_to, plain_bytes, smaller_within
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.constants import fit_within
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.search.goals import Tradeoff, most_balanced
from tinygen.targets.board import Board

MOST_OF_PLAIN = 1.25  # times the plain constants
_MOST_PLANS = 2  # the first, and one with smaller weights


class FoundPlan(NamedTuple):
    """A plan, and what else was found on the way."""

    toolbox: Toolbox  # with weights as they stand there
    schedule: Schedule
    smaller: Tradeoff | None = None  # the next plan with a smaller arena, where one was looked at


def balanced_plan(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> FoundPlan:
    """The balanced plan. Where RAM is so limited that only plans with more constants are found, one of these."""
    points: list[Tradeoff] = []
    toolbox, schedule = _found(graph, board, toolbox, replace(request, tell=points.append))
    own = Tradeoff(schedule.arena_bytes, estimated_instructions(schedule, toolbox.library))
    return FoundPlan(toolbox, schedule, _next_smaller(points, own))


def _next_smaller(points: Iterable[Tradeoff], than: Tradeoff) -> Tradeoff | None:
    """The largest of those that are smaller and slower, without those that others beat."""
    best: Tradeoff | None = None
    for point in sorted(points):
        if than.instructions < point.instructions < (best.instructions if best else inf) and point.bytes < than.bytes:
            best = point
    return best


def _found(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> tuple[Toolbox, Schedule]:
    most_bytes = int(MOST_OF_PLAIN * plain_bytes(graph.ops, toolbox))
    toolbox = growing_to(graph.ops, toolbox, most_bytes)
    budget = most_balanced(instructions(graph.ops, toolbox))

    def planned(tools: Toolbox) -> Schedule:
        return plan(graph, board, tools, request)

    found = list[tuple[Toolbox, Schedule]]()
    for tools, schedule in islice(smaller_within(most_bytes, graph.ops, toolbox, planned), _MOST_PLANS):
        if fit_within(schedule, most_bytes) and estimated_instructions(schedule, tools.library) <= budget:
            return tools, schedule
        found.append((tools, schedule))
    whole = plan(graph, board, toolbox, replace(request, may_split=False))
    if request.limit_bytes is None or whole.arena_bytes <= request.limit_bytes:
        return toolbox, whole
    return next((each for each in found if fit_within(each[1], most_bytes)), found[0])
