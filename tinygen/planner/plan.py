"""From a graph to a schedule: order, kernels, sharing, lifetimes, offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import Kernel, Objective, Toolbox
from tinygen.kernels.select import has_kernel
from tinygen.planner.chains.network import Network
from tinygen.planner.cost.choice import instructions, select, uncertain
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.memory.spill import arena_room, spill
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.findings import SharedFindings
from tinygen.planner.search.goals import (
    ESTIMATES_OFF,
    LOOPS_SAVE,
    RAM_SLACK,
    Tradeoff,
    chosen_balanced,
    chosen_for_ram,
    most_balanced,
    room_bytes,
)
from tinygen.planner.search.search_work import MOST_OF_BALANCED, MOST_OF_PLAN, MOST_OF_SMALLEST, Watch
from tinygen.planner.search.splitting import Tell, least_bytes, smaller_plans, smallest_plan, split_plan
from tinygen.planner.whole.stepping import step_plans
from tinygen.planner.whole.whole import exchanged, whole_plan
from tinygen.system.collection import rare_collections
from tinygen.targets.board import Board

_FASTEST = (Objective.TIME, Objective.SIZE)  # whole tensors are fastest, and take the least code


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is asked for."""

    limit_bytes: int | None = None  # that the arena should not exceed
    may_split: bool = True
    in_one_piece: bool = False  # not over several memories, however large it is
    fetches_input: bool = False  # the application gives the input by rows
    rereads_input: bool = False  # it gives any columns of them, and as often as wanted
    extra_macs: int = 0  # multiplications that may be done again for the sake of memory
    stores_output: bool = False  # the application takes the output by rows
    solver: Solver = Solver.BUILTIN  # that places buffers
    slack: float = RAM_SLACK  # of the smallest arena, that -O ram may add for speed
    watch: Watch | None = field(default=None, compare=False, repr=False)  # told what is searched, and the best so far
    tell: Tell | None = field(default=None, compare=False, repr=False)  # told of each plan that is looked at

    @property
    def calls_application(self) -> bool:
        """Whether the application gives or takes rows: a schedule on whole tensors has no steps for that."""
        return self.fetches_input or self.stores_output

    def most_units(self, objective: Objective) -> int:
        """Of the search for the plan: more where the smallest arena there is is asked for."""
        if objective is Objective.BALANCED:
            return MOST_OF_BALANCED
        return MOST_OF_PLAN if self.slack else MOST_OF_SMALLEST

    @property
    def most_units_with_fewer(self) -> int:
        """Of the search with fewer kernels to choose from. With some slack all that hangs on it is from where that
        counts, so it takes a quarter; without, as many as if there were no others."""
        most = self.most_units(Objective.RAM)
        return most // 4 if self.slack else most

    def network(self, graph: Graph, kernels: Mapping[Op, Kernel]) -> Network:
        """The graph as the splitting planner sees it."""
        return Network.of(graph, kernels, self.fetches_input, self.rereads_input, self.stores_output)


@dataclass(frozen=True)
class CurvePoint:
    """A schedule and its price."""

    schedule: Schedule
    instructions: int  # of one inference, estimated
    is_chosen: bool = False  # whether this is the plan that the request was answered with


@rare_collections()
def plan(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest = PlanRequest()) -> Schedule:
    """The schedule that serves the toolbox's objective; it may exceed the limit where nothing smaller is found.

    Whole tensors are fastest: they are left only for an objective or a limit that asks for less memory.
    """
    toolbox = for_graph(graph, board, toolbox, request.solver)
    if graph.is_sequential:
        schedule = _in_memories(_of_call(graph, board, toolbox, request), request)
        check(schedule)
        return schedule
    return _plan(graph, board, _with_work_in_place(graph, board, toolbox, request), request)


def _of_call(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> Schedule:
    """The schedule of a call of a stream that serves the objective within the limit; the smallest one where none is
    within it."""
    if toolbox.objective is Objective.BALANCED:
        return _balanced(graph, board, toolbox, request)
    toolboxes = _choices(toolbox) if toolbox.objective is Objective.RAM else (toolbox,)
    plans = [schedule for each in toolboxes for schedule in step_plans(graph, board, each, request.solver)]
    limit = request.limit_bytes
    fitting = [schedule for schedule in plans if limit is None or schedule.arena_bytes <= limit]
    if fitting and toolbox.objective in _FASTEST:
        return fitting[0]
    return min(plans, key=lambda schedule: schedule.arena_bytes)


def _choices(toolbox: Toolbox) -> tuple[Toolbox, ...]:
    """The toolbox, and that with fewer kernels whose plans are found with all of them, too."""
    return (toolbox, toolbox.of_library) if toolbox.mixes_kernels else (toolbox,)


def for_graph(graph: Graph, board: Board, toolbox: Toolbox, solver: Solver) -> Toolbox:
    """The toolbox with what it has to know of the graph: plans of all subgraphs, on whole tensors, in one piece of
    memory, and by how much estimates of a call may be off, where kernels are chosen by these."""
    plans = dict(toolbox.plans)
    # Where RAM is the goal scratch is what counts: a limit of nothing leaves the least of it.
    limit_bytes = 0 if toolbox.objective is Objective.RAM else None
    alone = PlanRequest(limit_bytes, may_split=False, in_one_piece=True, solver=solver)
    for subgraph in (subgraph for op in graph.ops for subgraph in op.subgraphs):
        if subgraph.graph not in plans:
            plans[subgraph.graph] = plan(subgraph.graph, board, toolbox, alone)
    if len(plans) > len(toolbox.plans):
        toolbox = replace(toolbox, plans=frozenset(plans.items()))
    if toolbox.chooses_by_cost and toolbox.uncertain == inf:
        return replace(toolbox, uncertain=uncertain(graph.ops, toolbox, ESTIMATES_OFF))
    return toolbox


def _plan(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> Schedule:
    """The same, where it is known whether whole tensors are worked on in place."""
    if toolbox.objective is Objective.BALANCED:
        schedule, network = _exchanging(_balanced(graph, board, toolbox, request), toolbox, request)
    else:
        schedule, network = _whole(graph, board, toolbox, request)
    if not request.may_split and toolbox.objective is Objective.RAM and toolbox.mixes_kernels:
        schedule = exchanged(_thriftiest(graph, board, toolbox, request), network)
    if request.may_split and _may_be_better(schedule, toolbox.objective, request):
        limit = _limit(request, schedule.arena_bytes)
        smaller = partial(_with_fewer_kernels, graph, board, toolbox, request, network)
        found = split_plan(
            network,
            board,
            _thriftier(toolbox),
            None if toolbox.objective is Objective.BALANCED and schedule.arena_bytes <= limit else limit,
            request.extra_macs,
            request.solver,
            request.slack,
            request.watch,
            smaller,
            request.most_units(toolbox.objective),
            request.tell,
        )
        is_too_large = request.limit_bytes is not None and found.arena_bytes > request.limit_bytes
        if is_too_large and toolbox.mixes_kernels and toolbox.objective is not Objective.RAM:
            found = smaller(found.arena_bytes, SharedFindings()) or found
        schedule = found if _is_worth_it(found, schedule, toolbox, request, limit) else schedule
    schedule = _in_memories(schedule, request)
    check(schedule)
    return schedule


def _whole(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> tuple[Schedule, Network]:
    """A schedule on whole tensors, and the network in the order that it has."""
    return _exchanging(whole_plan(graph, board, _kernels(graph, toolbox), request.solver), toolbox, request)


def _exchanging(whole: Schedule, toolbox: Toolbox, request: PlanRequest) -> tuple[Schedule, Network]:
    """A schedule on whole tensors with what the application gives and takes, and the network in the same order."""
    parts = whole.graph.by_parts
    network = request.network(parts, _kernels(parts, _thriftier(toolbox)))
    return exchanged(whole, network), network


def _thriftiest(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> Schedule:
    """The schedule on whole tensors that memory as the goal takes: its kernels have no more than so much scratch."""
    plans = [s for each in _choices(toolbox) for s in step_plans(graph, board, each, request.solver)]
    room = room_bytes(min(s.arena_bytes for s in plans), request.slack, request.limit_bytes)
    points = {Tradeoff(s.arena_bytes, estimated_instructions(s, toolbox.library)): s for s in plans}
    return points[chosen_for_ram(point for point in points if point.bytes <= room)]


def _balanced(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> Schedule:
    """The same for a balanced plan: less and less scratch is looked at as long as it costs little, or there is no room
    for more."""
    points: dict[Tradeoff, Schedule] = {}
    for schedule in step_plans(graph, board, toolbox, request.solver):
        points[Tradeoff(schedule.arena_bytes, estimated_instructions(schedule, toolbox.library))] = schedule
        chosen = chosen_balanced(points, request.limit_bytes)
        has_room = request.limit_bytes is None or chosen.bytes <= request.limit_bytes
        if has_room and chosen.bytes > schedule.arena_bytes:
            break
    return points[chosen]


def _with_fewer_kernels(
    graph: Graph,
    board: Board,
    toolbox: Toolbox,
    request: PlanRequest,
    other: Network,
    below_bytes: int,
    known: SharedFindings,
) -> Schedule | None:
    """The smallest schedule that the library's kernels alone are found to give, if that takes less than so many bytes;
    `other` is the network with all of them, and `known` what is known of it.

    Searches miss some placements: what fewer kernels find is there with more of them as well.
    """
    alone = toolbox.of_library
    whole, network = _whole(graph, board, alone, request)
    found = smallest_plan(
        network.knowing(other),
        board,
        _thriftier(alone),
        request.extra_macs,
        request.solver,
        below_bytes,
        known,
        request.most_units_with_fewer,
    )
    smallest = min((each for each in (whole, found) if each), key=lambda each: each.arena_bytes)
    return smallest if smallest.arena_bytes < below_bytes else None


def certain_bytes(graph: Graph, request: PlanRequest) -> int:
    """What inputs, or outputs, take at least: no plan takes less."""
    inputs = () if request.fetches_input else dict.fromkeys(graph.input_tensors)
    outputs = () if request.stores_output else dict.fromkeys(t for t in graph.output_tensors if not t.is_constant)
    return max(sum(tensor.type.bytes for tensor in tensors) for tensors in (inputs, outputs))


@rare_collections()
def about_least_bytes(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> int:
    """About the smallest arena that can be had, found in a fraction of the time that `plan` takes."""
    if graph.is_sequential or not request.may_split:
        return plan(graph, board, toolbox, request).arena_bytes
    _, network = _whole(graph, board, toolbox, request)
    return least_bytes(network, _thriftier(toolbox), request.extra_macs)


def _thriftier(toolbox: Toolbox) -> Toolbox:
    """The toolbox where whole tensors take too much."""
    return replace(toolbox, works_in_place=True)


def _with_work_in_place(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> Toolbox:
    """The toolbox that works in place if that makes whole tensors take less."""
    library = replace(toolbox, has_native_kernels=False)
    kernels, in_place = (_kernels(graph, tools) for tools in (library, _thriftier(library)))
    if all(kernel.in_place == in_place[op].in_place for op, kernel in kernels.items()):
        return toolbox
    before, after = (whole_plan(graph, board, chosen, request.solver) for chosen in (kernels, in_place))
    return _thriftier(toolbox) if after.arena_bytes < before.arena_bytes else toolbox


def _limit(request: PlanRequest, bytes: int) -> int:
    """What an arena may take that takes no more than so many bytes."""
    return bytes if request.limit_bytes is None else min(bytes, request.limit_bytes)


def _is_worth_it(split: Schedule, whole: Schedule, toolbox: Toolbox, request: PlanRequest, limit_bytes: int) -> bool:
    """Whether a schedule with loops is so much better than one on whole tensors that the loops are worth reading.

    Where the application gives or takes rows, they are for the bytes alone, if they cost no time.
    """
    is_smaller = split.arena_bytes < whole.arena_bytes
    if whole.arena_bytes > limit_bytes or toolbox.objective is Objective.RAM:
        return is_smaller
    if toolbox.objective is Objective.BALANCED:
        budget = most_balanced(instructions(whole.graph.ops, toolbox))
        return is_smaller and estimated_instructions(split, toolbox.library) <= budget
    if split.arena_bytes > limit_bytes:
        return False
    after, before = (estimated_instructions(schedule, toolbox.library) for schedule in (split, whole))
    is_as_fast = request.calls_application and is_smaller and after <= before
    return is_as_fast or after < (1 - LOOPS_SAVE) * before


def _in_memories(schedule: Schedule, request: PlanRequest) -> Schedule:
    """The schedule, with some buffers outside of main RAM where it has too little for them; a limit is for all RAM."""
    room_bytes = arena_room(schedule.board)
    is_limited = request.limit_bytes is not None and request.limit_bytes < room_bytes
    if request.in_one_piece or is_limited or schedule.arena_bytes <= room_bytes:
        return schedule
    return spill(schedule) or schedule


@rare_collections()
def curve(graph: Graph, board: Board, toolbox: Toolbox, request: PlanRequest) -> tuple[CurvePoint, ...]:
    """From whole tensors to the smallest arena: each next schedule is smaller, and of those on less than whole tensors
    none that is as fast is smaller.

    Of the request counts how the input comes, where the output goes, what may be done again, and who places buffers.
    """
    fastest = replace(toolbox, objective=Objective.TIME)
    if graph.is_sequential:
        return _curve_of_calls(graph, board, fastest, request.solver)
    whole = plan(graph, board, fastest, replace(request, limit_bytes=None, may_split=False))
    thrifty = _thriftier(fastest)
    network = request.network(whole.graph.by_parts, _kernels(whole.graph.by_parts, thrifty))
    points: list[CurvePoint] = []
    for schedule in smaller_plans(network, board, thrifty, whole, request.extra_macs, request.solver):
        check(schedule)
        point = _point(schedule, toolbox)
        points = [*(p for p in points if p.instructions < point.instructions), point]
    return (_point(whole, toolbox), *points)


def with_chosen(points: Sequence[CurvePoint], chosen: Schedule, toolbox: Toolbox) -> tuple[CurvePoint, ...]:
    """The points of a curve with the plan that was chosen among them, behind those of larger arenas.

    Whole tensors stay the first point. A point that is alike stands for the plan, so that none is there twice.
    """
    point = replace(_point(chosen, toolbox), is_chosen=True)

    def is_alike(other: CurvePoint) -> bool:
        return (other.schedule.arena_bytes, other.instructions) == (chosen.arena_bytes, point.instructions)

    if any(map(is_alike, points)):
        return tuple(point if is_alike(other) else other for other in points)
    whole, *smaller = points
    return (whole, *sorted((*smaller, point), key=lambda each: -each.schedule.arena_bytes))


def _point(schedule: Schedule, toolbox: Toolbox) -> CurvePoint:
    return CurvePoint(schedule, round(estimated_instructions(schedule, toolbox.library)))


def _curve_of_calls(graph: Graph, board: Board, toolbox: Toolbox, solver: Solver) -> tuple[CurvePoint, ...]:
    """The same for a stream."""
    return tuple(_point(schedule, toolbox) for schedule in step_plans(graph, board, toolbox, solver))


def _may_be_better(whole: Schedule, objective: Objective, request: PlanRequest) -> bool:
    """Whether something else than whole tensors may be what the objective asks for."""
    if request.limit_bytes is not None and whole.arena_bytes > request.limit_bytes:
        return True
    exchanges = request.calls_application and objective is Objective.TIME  # chains may be as fast, and smaller
    return exchanges or objective not in _FASTEST


def _kernels(graph: Graph, toolbox: Toolbox) -> dict[Op, Kernel]:
    return {op: select(op, toolbox) for op in graph.ops if has_kernel(op)}
