"""Schedules on whole tensors: one call for each operator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from tinygen.budget import NEIGHBOURS
from tinygen.ir.graph import Graph, Op
from tinygen.ir.rows import Piece, every_row
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel
from tinygen.planner.chains.network import Network
from tinygen.planner.memory.block import Block
from tinygen.planner.memory.effort import LAYOUTS_WORK, Effort
from tinygen.planner.memory.placement import PlacementSearch
from tinygen.planner.schedule.schedule import Buffer, Call, Fetch, FlatStep, Fused, Place, Schedule, Shift, Step, Store
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.whole.copies import layouts
from tinygen.planner.whole.layout import Arrangement, moves
from tinygen.planner.whole.order import best_order
from tinygen.targets.board import Board


def whole_plan(graph: Graph, board: Board, kernels: Mapping[Op, Kernel], solver: Solver = Solver.BUILTIN) -> Schedule:
    """The smallest schedule on whole tensors, of some orders and of the layouts worth packing."""
    orders = dict.fromkeys((graph, best_order(graph)))
    return min((_plan(order, board, kernels, solver) for order in orders), key=lambda schedule: schedule.arena_bytes)


def exchanged(whole: Schedule, network: Network) -> Schedule:
    """The same calls in the same arena; before the first one the application gives what `network` fetches, after the
    last one it takes what `network` stores, all rows at once.

    The schedule itself where nothing is given or taken.
    """
    inputs, outputs = whole.graph.input_tensors, whole.graph.output_tensors
    given, taken = sorted(map(network.input_port, network.fetched)), map(network.output_port, network.stored)
    fetches = tuple(Fetch(port, _all(inputs[port])) for port in given)
    stores = tuple(Store(port, _all(outputs[port])) for port in taken)
    if not fetches and not stores:
        return whole
    later = _later(whole, len(fetches), len(stores))
    last = len(whole.calls) - 1

    def step(index: int, call: Call) -> Step:
        moved = replace(call, scratch=later[call.scratch] if call.scratch else None)
        inner: tuple[FlatStep, ...] = (*(fetches if index == 0 else ()), moved, *(stores if index == last else ()))
        return moved if inner == (moved,) else Fused((call.op,), inner)

    return replace(
        whole,
        steps=tuple(step(index, call) for index, call in enumerate(whole.calls)),
        buffers=tuple(later.values()),
        places={tensor: Place(later[place.buffer], place.offset) for tensor, place in whole.places.items()},
        offsets={later[buffer]: offset for buffer, offset in whole.offsets.items()},
        rereads_input=network.rereads_input and bool(fetches),
    )


def _later(whole: Schedule, fetches: int, stores: int) -> dict[Buffer, Buffer]:
    """The buffers with so many steps before all calls, in which inputs live, and behind them, in which outputs do."""
    inputs = {whole.places[tensor].buffer for tensor in whole.graph.input_tensors}
    outputs = {whole.places[tensor].buffer for tensor in whole.graph.output_tensors if not tensor.is_constant}
    return {
        buffer: replace(
            buffer,
            first_step=0 if buffer in inputs else buffer.first_step + fetches,
            last_step=buffer.last_step + fetches + (stores if buffer in outputs else 0),
        )
        for buffer in whole.buffers
    }


def _all(tensor: Tensor) -> Piece:
    return Piece(tensor, tensor, every_row(tensor))


def _plan(graph: Graph, board: Board, kernels: Mapping[Op, Kernel], solver: Solver) -> Schedule:
    """The smallest of the layouts worth packing, as far as there is work left; of equals the one that copies least."""
    best: tuple[int, int] | None = None  # arena bytes and copied bytes
    spent = 0
    for layout in layouts(graph, kernels):
        if best is not None and (spent > LAYOUTS_WORK or best <= (layout.lower_bound_bytes, layout.copied_bytes)):
            continue
        candidate, distances = _place(layout, board, solver)
        spent += distances
        cost = (candidate.arena_bytes, layout.copied_bytes)
        if best is None or cost < best:
            best, schedule = cost, candidate
    return schedule


def found_offsets(
    items: Sequence[Sequence[Block]], solver: Solver, effort: Effort = Effort.THOROUGH
) -> tuple[dict[Block, int], int]:
    """Where blocks lie, and how many forbidden distances the search for that looked at."""
    search = PlacementSearch(items, solver=solver)
    return search.best(effort), search.distances


def _place(layout: Arrangement, board: Board, solver: Solver) -> tuple[Schedule, int]:
    """The layout's schedule, and the work that placing it took."""
    NEIGHBOURS.check(_pairs_live_together(layout.buffers), layout.graph.name)
    placed, distances = found_offsets([(block,) for block in layout.blocks.values()], solver)
    offsets = {buffer: placed[block] for buffer, block in layout.blocks.items()}
    steps: tuple[Step, ...] = (*layout.calls, *_updates(layout))
    schedule = Schedule(
        layout.graph,
        board,
        steps,
        layout.buffers,
        layout.places,
        offsets,
        layout.lower_bound_bytes,
        solver=solver,
    )
    return schedule, distances


def _pairs_live_together(buffers: Iterable[Buffer]) -> int:
    count, ends = 0, list[int]()
    for buffer in sorted(buffers, key=lambda buffer: buffer.first_step):
        while ends and ends[0] < buffer.first_step:
            heappop(ends)
        count += len(ends)
        heappush(ends, buffer.last_step)
    return count


def _updates(layout: Arrangement) -> tuple[Shift, ...]:
    """At the end of a call, the last rows of each window move to its start: the next call's state."""
    states = [(state, layout.places[state.tensor]) for state in moves(layout.graph)]
    return tuple(
        Shift(place.buffer, place.offset + state.source_bytes, place.offset, state.tensor.type.bytes)
        for state, place in states
    )
