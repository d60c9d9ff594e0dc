"""From a graph to a schedule: order, kernels, sharing, lifetimes, offsets."""

from collections.abc import Mapping

from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.planner.check import check
from tinygen.planner.copies import layouts
from tinygen.planner.layout import Layout
from tinygen.planner.order import best_order
from tinygen.planner.packing import pack
from tinygen.planner.schedule import Schedule
from tinygen.targets.board import Board


def plan(graph: Graph, board: Board, toolbox: Toolbox) -> Schedule:
    """The schedule of whole tensors with the smallest arena found; of equals the first in the order of the graph."""
    kernels = {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}
    orders = dict.fromkeys((graph, best_order(graph)))
    schedule = min((_plan(order, board, kernels) for order in orders), key=lambda schedule: schedule.arena_bytes)
    check(schedule)
    return schedule


def _plan(graph: Graph, board: Board, kernels: Mapping[Op, Kernel]) -> Schedule:
    """The smallest of the layouts worth packing; of equals the one that copies least."""
    best: tuple[int, int] | None = None  # arena bytes and copied bytes
    for layout in layouts(graph, kernels):
        if best is not None and best <= (layout.lower_bound_bytes, layout.copied_bytes):
            continue
        candidate = _place(layout, board)
        cost = (candidate.arena_bytes, layout.copied_bytes)
        if best is None or cost < best:
            best, schedule = cost, candidate
    return schedule


def _place(layout: Layout, board: Board) -> Schedule:
    buffers = layout.buffers
    return Schedule(layout.graph, board, layout.calls, buffers, layout.places, pack(buffers), layout.lower_bound_bytes)
