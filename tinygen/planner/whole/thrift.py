"""The fastest kernels on whole tensors for which the arena is no larger than for the library's."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.planner.cost.choice import variants
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets.board import Board


def thrifty_plan(graph: Graph, board: Board, toolbox: Toolbox, limit_bytes: int, solver: Solver) -> Schedule:
    """A schedule on whole tensors: where the arena exceeds the limit, operators get kernels with less scratch.

    Last comes the library's kernel, so that the arena ends, at the latest, at `library_bytes`.
    """
    library = _library_kernels(graph, toolbox)
    left = {op: [*variants(op, toolbox), kernel] for op, kernel in library.items()}
    while True:
        schedule = whole_plan(graph, board, {op: found[0] for op, found in left.items()}, solver)
        open_ops = {op for op, found in left.items() if len(found) > 1}
        if schedule.arena_bytes <= limit_bytes or not open_ops:
            return schedule
        for op in _too_large(schedule, limit_bytes, open_ops):
            del left[op][0]


def library_bytes(graph: Graph, board: Board, toolbox: Toolbox, solver: Solver) -> int:
    """The arena for whole tensors and the library's kernels."""
    return whole_plan(graph, board, _library_kernels(graph, toolbox), solver).arena_bytes


def _library_kernels(graph: Graph, toolbox: Toolbox) -> dict[Op, Kernel]:
    alone = replace(toolbox, has_native_kernels=False)
    return {op: by_rank.variants(op, alone)[0] for op in graph.ops if by_rank.has_kernel(op)}


def _too_large(schedule: Schedule, limit: int, open_ops: set[Op]) -> list[Op]:
    """The operators to choose anew: those above the limit by themselves, or where none is, the one nearest to it."""
    live = {
        step.op: sum(buffer.bytes for buffer in schedule.live_buffers(at))
        for at, step in enumerate(schedule.flat_steps)
        if isinstance(step, Call)
    }
    found = [op for op in live if op in open_ops]
    if not found:
        return list(open_ops)
    return [op for op in found if live[op] > limit] or [max(found, key=lambda op: live[op])]
