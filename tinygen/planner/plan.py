"""From a graph to a schedule: order, kernels, sharing, lifetimes, offsets."""

from tinygen.ir.graph import Graph
from tinygen.kernels.base import Toolbox
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
    orders = dict.fromkeys((graph, best_order(graph)))
    schedule = min((_plan(order, board, toolbox) for order in orders), key=lambda schedule: schedule.arena_bytes)
    check(schedule)
    return schedule


def _plan(graph: Graph, board: Board, toolbox: Toolbox) -> Schedule:
    kernels = {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}
    found: list[Schedule] = []
    for layout in layouts(graph, kernels):
        if found and layout.lower_bound_bytes >= min(schedule.arena_bytes for schedule in found):
            break
        found.append(_place(layout, board))
    return min(found, key=lambda schedule: schedule.arena_bytes)


def _place(layout: Layout, board: Board) -> Schedule:
    buffers = layout.buffers
    return Schedule(layout.graph, board, layout.calls, buffers, layout.places, pack(buffers), layout.lower_bound_bytes)
