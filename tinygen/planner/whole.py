"""Schedules on whole tensors: one call for each operator."""

from collections.abc import Mapping

from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import Kernel
from tinygen.planner.copies import layouts
from tinygen.planner.layout import Layout
from tinygen.planner.order import best_order
from tinygen.planner.placement import place
from tinygen.planner.schedule import Schedule, Shift, Step
from tinygen.targets.board import Board


def whole_plan(graph: Graph, board: Board, kernels: Mapping[Op, Kernel]) -> Schedule:
    """The smallest schedule on whole tensors, of some orders and of the layouts worth packing."""
    orders = dict.fromkeys((graph, best_order(graph)))
    return min((_plan(order, board, kernels) for order in orders), key=lambda schedule: schedule.arena_bytes)


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
    placed = place([(block,) for block in layout.blocks.values()])
    offsets = {buffer: placed[block] for buffer, block in layout.blocks.items()}
    steps: tuple[Step, ...] = (*layout.calls, *_updates(layout))
    return Schedule(layout.graph, board, steps, layout.buffers, layout.places, offsets, layout.lower_bound_bytes)


def _updates(layout: Layout) -> tuple[Shift, ...]:
    """At the end of a call, the last rows of each window move to its start: the next call's state."""
    states = [(state, layout.places[state.tensor]) for state in layout.graph.states]
    return tuple(
        Shift(place.buffer, place.offset + state.source_bytes, place.offset, state.tensor.type.bytes)
        for state, place in states
    )
