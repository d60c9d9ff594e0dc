"""Schedules of one call of a stream: whole tensors of one step, beside the states, which hold their places."""

from collections.abc import Iterator

from tinygen.ir.graph import Graph
from tinygen.kernels.base import Toolbox
from tinygen.kernels.select import first_within, has_kernel
from tinygen.planner.cost.choice import variants
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets.board import Board


def step_plans(graph: Graph, board: Board, toolbox: Toolbox, solver: Solver) -> Iterator[Schedule]:
    """From the fastest kernels to those with the least scratch, which is all that can be saved: each one smaller."""
    choices = {op: variants(op, toolbox) for op in graph.ops if has_kernel(op)}
    sizes = {kernel.scratch_bytes for found in choices.values() for kernel in found}
    smallest: int | None = None
    for scratch_bytes in (None, *sorted(sizes, reverse=True)):
        kernels = {op: first_within(found, scratch_bytes) for op, found in choices.items()}
        schedule = whole_plan(graph, board, kernels, solver)
        if smallest is None or schedule.arena_bytes < smallest:
            smallest = schedule.arena_bytes
            yield schedule
