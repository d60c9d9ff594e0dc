"""The fastest kernels for which the arena is no larger than for the library's: speed that costs no RAM."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.planner.choice import variants
from tinygen.planner.schedule import Call, Schedule
from tinygen.planner.whole import whole_plan
from tinygen.targets.board import Board


def thrifty_kernels(graph: Graph, board: Board, toolbox: Toolbox) -> dict[Op, Kernel]:
    """For each operator the cheapest kernel; at steps where the arena grows by it, one with less scratch.

    Last comes the library's kernel, so that the arena ends, at the latest, where the library's stands.
    """
    ops = [op for op in graph.ops if by_rank.has_kernel(op)]
    library = {op: by_rank.variants(op, replace(toolbox, has_native_kernels=False))[0] for op in ops}
    limit = whole_plan(graph, board, library).arena_bytes
    left = {op: [*variants(op, toolbox), library[op]] for op in ops}
    while True:
        kernels = {op: found[0] for op, found in left.items()}
        schedule = whole_plan(graph, board, kernels)
        if schedule.arena_bytes <= limit:
            return kernels
        for op in _too_large(schedule, limit, {op for op, found in left.items() if len(found) > 1}):
            del left[op][0]


def _too_large(schedule: Schedule, limit: int, open_ops: set[Op]) -> list[Op]:
    """The operators to choose anew: those above the limit by themselves, or where none is, the one nearest to it."""
    live = {
        step.op: sum(buffer.bytes for buffer in schedule.live_buffers(at))
        for at, step in enumerate(schedule.flat_steps)
        if isinstance(step, Call)
    }
    found = [op for op in live if op in open_ops]
    assert found, "the library's kernels exceed their own arena"
    return [op for op in found if live[op] > limit] or [max(found, key=lambda op: live[op])]
