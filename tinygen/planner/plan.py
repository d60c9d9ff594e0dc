"""From a graph to a schedule: order, kernels, sharing, lifetimes, offsets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import Kernel, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.planner.check import check
from tinygen.planner.copies import layouts
from tinygen.planner.cost import estimated_instructions
from tinygen.planner.layout import Layout
from tinygen.planner.network import Network
from tinygen.planner.order import best_order
from tinygen.planner.placement import place
from tinygen.planner.schedule import Schedule
from tinygen.planner.spill import rooms, spill
from tinygen.planner.splitting import smaller_plans, split_plan
from tinygen.targets.board import Board


@dataclass(frozen=True)
class Request:
    """What a plan is asked for."""

    limit_bytes: int | None = None  # that the arena should not exceed
    may_split: bool = True
    fetches_input: bool = False  # the application gives the input by rows


@dataclass(frozen=True)
class CurvePoint:
    """A schedule and its price."""

    schedule: Schedule
    extra_instructions: int  # beyond those on whole tensors, estimated


def plan(graph: Graph, board: Board, toolbox: Toolbox, request: Request = Request()) -> Schedule:
    """The schedule that serves the toolbox's objective; it may exceed the limit where nothing smaller is found.

    Whole tensors are fastest: they are left only for an objective or a limit that asks for less memory.
    """
    kernels = _kernels(graph, toolbox)
    orders = dict.fromkeys((graph, best_order(graph)))
    whole = min((_plan(order, board, kernels) for order in orders), key=lambda schedule: schedule.arena_bytes)
    schedule = whole
    if request.fetches_input or (request.may_split and not _suffices(whole, toolbox.objective, request)):
        network = Network.of(whole.graph, kernels, request.fetches_input)
        found = split_plan(network, board, toolbox, request.limit_bytes, request.may_split)
        schedule = found if request.fetches_input or found.arena_bytes < whole.arena_bytes else whole
    schedule = _in_memories(schedule, request)
    check(schedule)
    return schedule


def _in_memories(schedule: Schedule, request: Request) -> Schedule:
    """The schedule, with some buffers outside of main RAM where it has too little for them; a limit is for all RAM."""
    room_bytes = rooms(schedule.board)[schedule.board.main_ram]
    is_limited = request.limit_bytes is not None and request.limit_bytes < room_bytes
    if is_limited or schedule.arena_bytes <= room_bytes:
        return schedule
    return spill(schedule) or schedule


def curve(graph: Graph, board: Board, toolbox: Toolbox, fetches_input: bool) -> tuple[CurvePoint, ...]:
    """From whole tensors to the smallest arena: each next schedule is smaller, and none that is as fast is smaller."""
    fastest = replace(toolbox, objective=Objective.TIME)
    whole = plan(graph, board, fastest, Request(may_split=False, fetches_input=fetches_input))
    network = Network.of(whole.graph, _kernels(whole.graph, fastest), fetches_input)
    base = estimated_instructions(whole, toolbox.library)
    points: list[CurvePoint] = []
    smallest = plan(graph, board, replace(toolbox, objective=Objective.RAM), Request(fetches_input=fetches_input))
    for schedule in (*smaller_plans(network, board, fastest, whole.arena_bytes), smallest):
        if schedule.arena_bytes >= (points[-1].schedule if points else whole).arena_bytes:
            continue
        check(schedule)
        point = CurvePoint(schedule, round(estimated_instructions(schedule, toolbox.library) - base))
        points = [*(p for p in points if p.extra_instructions < point.extra_instructions), point]
    return (CurvePoint(whole, 0), *points)


def _suffices(whole: Schedule, objective: Objective, request: Request) -> bool:
    """Whether whole tensors are what the objective asks for."""
    fits = request.limit_bytes is None or whole.arena_bytes <= request.limit_bytes
    return fits and objective in (Objective.TIME, Objective.SIZE)


def _kernels(graph: Graph, toolbox: Toolbox) -> dict[Op, Kernel]:
    return {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}


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
    return Schedule(layout.graph, board, layout.calls, layout.buffers, layout.places, offsets, layout.lower_bound_bytes)
