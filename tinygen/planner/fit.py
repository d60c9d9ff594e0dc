"""Whether a schedule fits a machine; if not, what stands in the way and what would help."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from tinygen import targets
from tinygen.errors import DoesNotFitError
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Toolbox
from tinygen.ops.table_rows import MOST_STORED, large_tables
from tinygen.planner.memory.occupancy import occupancy
from tinygen.planner.memory.spill import arena_room, rooms
from tinygen.planner.plan import PlanRequest, about_least_bytes, certain_bytes, plan
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Schedule
from tinygen.planner.search.goals import CURVE_STEP
from tinygen.targets.board import Board

_MOST_REMEDIES = 3
_MORE_RECOMPUTE = 0.1  # of the multiplications
_TWICE = (0.5, 1.0)  # the same where layers run again as their ranges must be known first
_MOST_BUFFERS = 8  # of the peak, that a message lists

_HOLDS = {
    BufferKind.WHOLE: "",
    BufferKind.RING: ", rows that are still needed",
    BufferKind.STATE: ", kept for the next call",
    BufferKind.SLICE: ", a slice of its channels",
    BufferKind.SUMS: ", running sums",
    BufferKind.SCRATCH: ", scratch",
}


@dataclass(frozen=True)
class Remedy:
    """Options that make the arena smaller."""

    options: str  # as on the command line
    arena_bytes: int


def check_tables(graph: Graph) -> None:
    """Raise DoesNotFitError where the tables that a float network selects from are too large for any C text."""
    tables = large_tables(graph)
    if tables:
        elements = sum(table.type.elements for table in tables)
        largest = max(tables, key=lambda table: (table.type.elements, table.name))
        raise DoesNotFitError(
            f"{graph.name}: the tables that it selects from have {elements:,} elements ('{largest.name}' "
            f"{largest.type.elements:,}), at most {MOST_STORED:,} were expected in C. Make them smaller; `tinygen "
            "calibrate` and `simulate` take them as they are."
        )


def room_bytes(schedule: Schedule) -> int:
    """Bytes that its arenas may take: those of main RAM, or of all memories where it uses several."""
    return sum(rooms(schedule.board).values()) if schedule.spilled else arena_room(schedule.board)


def fits_ram(schedule: Schedule, ram_bytes: int) -> bool:
    """Whether the arena fits into `ram_bytes`; one that is spread over several memories was made to fit those."""
    return schedule.arena_bytes <= ram_bytes or bool(schedule.spilled)


def check_fits(schedule: Schedule, ram_bytes: int, flash_bytes: int, remedies: Iterable[Remedy] = ()) -> None:
    """Raise DoesNotFitError where the arena exceeds `ram_bytes` or the constant tables exceed `flash_bytes`.

    `ram_bytes` is what the arena may take, without the stack. Code and the program's own data are not counted: the
    linker has the last word. `remedies` are looked at only where the arena is too large.
    """
    if not fits_ram(schedule, ram_bytes):
        raise DoesNotFitError("\n".join(_arena_too_large(schedule, ram_bytes, remedies)))
    if const_bytes(schedule) > flash_bytes:
        raise DoesNotFitError("\n".join(_tables_too_large(schedule, flash_bytes)))


def remedies(schedule: Schedule, toolbox: Toolbox, request: PlanRequest, macs: int | None = None) -> Iterator[Remedy]:
    """Other requests that give a smaller arena than `schedule`, which was planned by `request`; planned one by one.

    Of those that hardly keep the request's limit only the one that comes closest is planned, where none keeps it.
    `macs` are those that --recompute counts by, the graph's if nothing else is said.
    """
    least, suffices = schedule.arena_bytes, False
    graph, board, limit = schedule.graph, schedule.board, request.limit_bytes
    too_large: list[_TooLarge] = []
    macs = graph.macs if macs is None else macs
    for options, other in chain(_other_requests(graph, request), _recomputing(graph, request, macs)):
        if suffices and other.extra_macs > max(request.extra_macs, int(_MORE_RECOMPUTE * macs)):
            break  # larger shares come last
        if limit is not None:
            about = _TooLarge(options, other, certain_bytes(graph, other), is_certain=True)
            about = about if about.bytes > limit else about.searched(schedule, toolbox)
            if about.bytes > limit:
                too_large.append(about)
                continue
        arena_bytes = plan(graph, board, toolbox, other).arena_bytes
        asks_for_more = other.rereads_input or other.extra_macs > request.extra_macs
        if arena_bytes < (least if asks_for_more else schedule.arena_bytes):
            yield Remedy(options, arena_bytes)
            suffices |= limit is not None and arena_bytes <= limit
        least = min(least, arena_bytes)
    if too_large and not suffices:
        closest = _closest(too_large, schedule, toolbox)
        arena_bytes = plan(graph, board, toolbox, closest.request).arena_bytes
        if arena_bytes < least:
            yield Remedy(closest.options, arena_bytes)


@dataclass(frozen=True)
class _TooLarge:
    """Options that are hardly enough."""

    options: str
    request: PlanRequest
    bytes: int  # that a plan hardly goes below
    is_certain: bool  # whether no plan does, for the sake of inputs or outputs

    def searched(self, schedule: Schedule, toolbox: Toolbox) -> "_TooLarge":
        """The same, looked at more closely: what a plan takes may be a step of the curve below what is expected."""
        about = about_least_bytes(schedule.graph, schedule.board, toolbox, self.request)
        return replace(self, bytes=int((1 - CURVE_STEP) * about), is_certain=False)


def _closest(found: Sequence[_TooLarge], schedule: Schedule, toolbox: Toolbox) -> _TooLarge:
    """The one that takes least; as many are looked at closely as that takes."""
    left = list(found)
    while True:
        index = min(range(len(left)), key=lambda each: left[each].bytes)
        if not left[index].is_certain:
            return left[index]
        left[index] = left[index].searched(schedule, toolbox)


def _other_requests(graph: Graph, request: PlanRequest) -> Iterator[tuple[str, PlanRequest]]:
    """Options that may help, the one that asks least of the application first."""
    split = replace(request, may_split=True)
    streamed, rereadable = "--input streamed", "--input rereadable"
    if not request.may_split:
        yield "--split auto", split
    if not request.fetches_input and not graph.is_sequential:
        yield streamed, replace(request, fetches_input=True)
        if not request.may_split:
            yield f"--split auto {streamed}", replace(split, fetches_input=True)
    if not request.stores_output and _ends_largest(graph):
        yield "--results stored", replace(request, stores_output=True)
    if not request.rereads_input and not graph.is_sequential:
        yield rereadable, replace(split, fetches_input=True, rereads_input=True)


def _recomputing(graph: Graph, request: PlanRequest, macs: int) -> Iterator[tuple[str, PlanRequest]]:
    """Larger shares of the multiplications, in ascending order: up to all of them where parts run twice."""
    runs_twice = any(op.whole_operands for op in graph.ops)
    for share in (_MORE_RECOMPUTE, *(_TWICE if runs_twice else ())):
        if request.extra_macs < int(share * macs):
            yield f"--recompute {share:.0%}", replace(request, may_split=True, extra_macs=int(share * macs))


def _ends_largest(graph: Graph) -> bool:
    """Whether there is one output, and no value is larger."""
    if graph.is_sequential or len(graph.outputs) != 1:
        return False
    (output,) = graph.output_tensors
    return not output.is_constant and all(output.type.bytes >= t.type.bytes for t in graph.tensors if not t.is_constant)


def _arena_too_large(schedule: Schedule, ram_bytes: int, remedies: Iterable[Remedy]) -> Iterator[str]:
    yield (
        f"{_where(schedule)}: the arena needs {schedule.arena_bytes} bytes of RAM, {ram_bytes} are available "
        "without the stack."
    )
    if len(schedule.board.rams) > 1 and not schedule.spilled and ram_bytes >= arena_room(schedule.board):
        memories = " and ".join(f"{size} bytes of {memory.name}" for memory, size in rooms(schedule.board).items())
        yield f"Nor do its buffers fit when they are spread over {memories}."
    yield from _peak(schedule)
    yield f"No placement of these buffers needs less than {schedule.lower_bound_bytes} bytes."
    room = arena_room(schedule.board)
    limit = f"--ram {schedule.arena_bytes}: {schedule.board.name} has {room} bytes beside the stack"
    raised = [limit] if ram_bytes < schedule.arena_bytes <= room else []
    found = chain(raised, _options(remedies, ram_bytes), _larger_board(schedule))
    yield from _what_helps(found)


def _tables_too_large(schedule: Schedule, flash_bytes: int) -> Iterator[str]:
    needed = const_bytes(schedule)
    yield (
        f"{_where(schedule)}: weights and other constants need {needed} bytes of flash, {flash_bytes} are available."
    )
    room = schedule.board.flash_bytes
    limit = f"--flash {needed}: {schedule.board.name} has {room} bytes; the code needs room, too"
    raised = [limit] if flash_bytes < needed <= room else []
    yield from _what_helps(chain(raised, _larger_board(schedule)))


def _where(schedule: Schedule) -> str:
    return f"{schedule.graph.name} for {schedule.board.name}"


def _peak(schedule: Schedule) -> Iterator[str]:
    found = occupancy(schedule)
    live = found.at(found.peak_step)
    yield f"Peak: {_place(schedule, found.peak_step)}, with {found.peak_bytes} bytes live:"
    for one in live[:_MOST_BUFFERS]:
        yield f"  {one.bytes:>8} '{_first_name(one.buffer)}'{_HOLDS[one.buffer.kind]}"
    if others := live[_MOST_BUFFERS:]:
        yield f"  {sum(one.bytes for one in others):>8} in {len(others)} smaller ones"


def _place(schedule: Schedule, step: int) -> str:
    """The step, and the operator in the user's file that it belongs to; rows are moved and fetched for the next one."""
    for found in schedule.flat_steps[step:]:
        if isinstance(found, Call):
            source = found.whole.source
            return f"step {step}, {source.file}, operator {source.index} ({source.spelling.split(' ', 1)[0]})"
    return f"step {step}"


def _first_name(buffer: Buffer) -> str:
    """The first of the names that a converter joins for a fused operator."""
    first, separator, _ = buffer.name.partition(";")
    return f"{first};..." if separator else first


def _what_helps(found: Iterable[str]) -> Iterator[str]:
    lines = list(islice(found, _MOST_REMEDIES))
    yield "What helps:" if lines else "Use a smaller model."
    yield from (f"  {line}" for line in lines)


def _options(remedies: Iterable[Remedy], ram_bytes: int) -> Iterator[str]:
    """Options that suffice; where none does, the one that comes closest."""
    too_large = []
    suffices = False
    for remedy in remedies:
        if remedy.arena_bytes <= ram_bytes:
            suffices = True
            yield f"{remedy.options}: {remedy.arena_bytes} bytes"
        else:
            too_large.append(remedy)
    if too_large and not suffices:
        closest = min(too_large, key=lambda remedy: remedy.arena_bytes)
        yield f"{closest.options}: {closest.arena_bytes} bytes, which is less, but not enough"


def _larger_board(schedule: Schedule) -> Iterator[str]:
    """The smallest board with room for arena and tables; of the same instruction set, as scratch depends on it."""
    boards = [board for board in map(targets.load, targets.names()) if _holds(board, schedule)]
    if boards:
        board = min(boards, key=lambda board: (arena_room(board), board.flash_bytes, board.name))
        yield (
            f"--target {board.name}: {arena_room(board)} bytes of RAM beside the stack, {board.flash_bytes} bytes of "
            "flash, the same instruction set"
        )


def _holds(board: Board, schedule: Schedule) -> bool:
    fits = schedule.arena_bytes <= arena_room(board) and const_bytes(schedule) <= board.flash_bytes
    return fits and board.isa is schedule.board.isa and board.name != schedule.board.name
