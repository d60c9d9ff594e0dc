"""The schedule: calls in order, the buffers they use, and where the buffers lie."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import chain

from tinygen.ir.graph import Graph, Op
from tinygen.ir.rows import Piece
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.diagonal import whole_lead_bytes
from tinygen.planner.schedule.solver import Solver
from tinygen.targets.board import Board, Memory, MemoryKind


class BufferKind(Enum):
    """What a buffer holds."""

    WHOLE = "whole"  # one or more tensors, entirely
    RING = "ring"  # the rows of a tensor that are still needed
    STATE = "state"  # rows that are kept from call to call, and those of this one
    SLICE = "slice"  # some channels of a tensor
    SUMS = "sums"  # int32 sums of an average, or of a product in parts
    SCRATCH = "scratch"  # working memory of the calls of one operator


@dataclass(frozen=True, eq=False)
class Buffer:
    """A range of an arena. Compared by identity."""

    name: str
    bytes: int
    align: int
    kind: BufferKind
    first_step: int  # index of the first step that touches it
    last_step: int  # index of the last step that touches it, inclusive

    def overlaps_in_time(self, other: "Buffer") -> bool:
        """Whether both are live at some step."""
        return self.first_step <= other.last_step and other.first_step <= self.last_step


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: a buffer and the byte it starts at."""

    buffer: Buffer
    offset: int


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a kernel. Where an operator is split, `op` is its part on some rows, and `whole` all of it."""

    op: Op
    kernel: Kernel
    scratch: Buffer | None
    split_from: Op | None = None

    @property
    def whole(self) -> Op:
        """The operator of the graph."""
        return self.split_from or self.op

    @cached_property
    def lead_bytes(self) -> int | None:
        """How many bytes before its first operand the result must begin, or more, to lie over it; None: it may not."""
        diagonal = self.kernel.diagonal
        return None if diagonal is None else whole_lead_bytes(diagonal, self.op)


@dataclass(frozen=True, eq=False)
class Shift:
    """Rows of a ring move inside its buffer, from one offset to another; the ranges may overlap."""

    buffer: Buffer
    source: int
    target: int
    bytes: int

    @property
    def moves_up(self) -> bool:
        """Whether bytes move to a higher address, over themselves."""
        return self.source < self.target < self.source + self.bytes


@dataclass(frozen=True, eq=False)
class AtPort:
    """An operator between planes of the application and pixels of the network that is done as rows come or go."""

    op: Op
    line: Buffer | None  # through which rows of planes pass, one at a time; None where there is one plane only


@dataclass(frozen=True, eq=False)
class Fetch:
    """The application writes rows of an input where `piece` lies."""

    port: int  # index of the model's input
    piece: Piece
    at_port: AtPort | None = None  # where the piece is one of pixels, and the input has planes


@dataclass(frozen=True, eq=False)
class Store:
    """The application takes rows of an output from where `piece` lies."""

    port: int  # index of the model's output
    piece: Piece
    at_port: AtPort | None = None  # where the piece is one of pixels, and the output has planes


@dataclass(frozen=True, eq=False)
class Crop:
    """Some columns of a row are copied to where they lie without the others: two pieces of one tensor."""

    source: Piece
    target: Piece


FlatStep = Call | Shift | Fetch | Store | Crop


@dataclass(frozen=True, eq=False)
class Loop:
    """Iterations that differ by constant distances only: in the places they touch, in the rows they fetch or store, and
    on slices of channels in the parts of tables that their kernels take."""

    iterations: tuple[tuple[FlatStep, ...], ...]


@dataclass(frozen=True, eq=False)
class Strips:
    """Strips of columns, one after the other: the same kinds of steps on the same buffers, among them loops of equally
    many iterations. Bytes, columns, places and layers are others in each strip."""

    iterations: tuple[tuple[FlatStep | Loop, ...], ...]


@dataclass(frozen=True, eq=False)
class Fused:
    """A chain of operators that runs row by row, or slice by slice of its channels."""

    ops: tuple[Op, ...]
    steps: tuple[FlatStep | Loop | Strips, ...]


Step = FlatStep | Loop | Strips | Fused


@dataclass(frozen=True)
class Arena:
    """What buffers take of one memory."""

    memory: Memory
    bytes: int


@dataclass(frozen=True)
class HotCode:
    """Kernels that lie in a memory of their own."""

    memory: Memory
    files: tuple[str, ...]  # their C files without the ending; empty where no kernel has room
    bytes: int  # at most, as it is estimated
    room_bytes: int  # that arenas and a program around the model leave
    share: float  # of the modelled instructions of all kernels

    @property
    def is_copied(self) -> bool:
        """Whether start-up code brings it to where it runs."""
        return self.memory.kind is MemoryKind.RAM

    @property
    def percent(self) -> str:
        """That, for readers."""
        return f"{self.share:.1%}"


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that code generation needs to know of memory."""

    graph: Graph
    board: Board
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    places: Mapping[Tensor, Place]  # of every tensor that is not a constant
    offsets: Mapping[Buffer, int]  # from the start of the arena that the buffer lies in
    lower_bound_bytes: int  # no placement of these buffers is smaller
    pieces: Mapping[Tensor, Piece] = field(default_factory=dict)  # tensors that are rows of a tensor of the graph
    is_interleaved: bool = False  # whether buffers may share bytes while both live, as far as one holds nothing there
    rereads_input: bool = False  # whether fetches may go back, and take just some columns
    spilled: Mapping[Buffer, Memory] = field(default_factory=dict)  # buffers that do not lie in main RAM
    solver: Solver = Solver.BUILTIN  # that placed them
    hot_code: HotCode | None = None  # kernels that lie in a memory of their own, where one was named for them

    @cached_property
    def flat_steps(self) -> tuple[FlatStep, ...]:
        """All steps in execution order, loops unrolled."""
        return tuple(chain.from_iterable(unrolled(step) for step in self.steps))

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls of kernels in execution order, loops unrolled."""
        return tuple(step for step in self.flat_steps if isinstance(step, Call))

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Those of arenas and of hot code."""
        code = [self.hot_code.memory] if self.hot_code is not None and self.hot_code.files else []
        return tuple(dict.fromkeys([*(arena.memory for arena in self.arenas), *code]))

    @cached_property
    def subschedules(self) -> tuple["Schedule", ...]:
        """The plans of all subgraphs that kernels run, those inside of others behind them."""
        plans = dict.fromkeys(plan for call in self.calls for plan in call.kernel.plans)
        own = [plan for plan in plans if isinstance(plan, Schedule)]
        return tuple(chain.from_iterable((plan, *plan.subschedules) for plan in own))

    @cached_property
    def all_calls(self) -> tuple[Call, ...]:
        """The calls, and those in subgraphs."""
        return (*self.calls, *(call for plan in self.subschedules for call in plan.calls))

    @cached_property
    def fetched(self) -> frozenset[Tensor]:
        """Inputs of the model that the application gives by rows."""
        fetches = (step for step in self.flat_steps if isinstance(step, Fetch))
        return frozenset(self.graph.input_tensors[step.port] for step in fetches)

    @cached_property
    def stored(self) -> frozenset[Tensor]:
        """Outputs of the model that the application takes by rows."""
        stores = (step for step in self.flat_steps if isinstance(step, Store))
        return frozenset(self.graph.output_tensors[step.port] for step in stores)

    @cached_property
    def at_ports(self) -> frozenset[Op]:
        """Operators that are done as rows come from the application or go there."""
        steps = (step for step in self.flat_steps if isinstance(step, Fetch | Store))
        return frozenset(step.at_port.op for step in steps if step.at_port)

    @cached_property
    def starts(self) -> dict[State, Table]:
        """What states hold before the first call, as constants, where that is more than one byte again and again."""
        initial = {state: state.initial for state in self.graph.states}
        varied = ((state, start) for state, start in initial.items() if len(set(start.tobytes())) > 1)
        return {state: Table("start", start) for state, start in varied}

    def memory(self, buffer: Buffer) -> Memory:
        """The memory that a buffer lies in."""
        return self.spilled.get(buffer, self.board.main_ram)

    @cached_property
    def arenas(self) -> tuple[Arena, ...]:
        """One for each memory that is used, the fastest first; at least one."""
        ends: dict[str, int] = {}
        for buffer in self.buffers:
            name = self.memory(buffer).name
            ends[name] = max(ends.get(name, 0), self.offsets[buffer] + buffer.bytes)
        used = [Arena(memory, ends[memory.name]) for memory in self.board.rams if memory.name in ends]
        return tuple(used) or (Arena(self.board.main_ram, 0),)

    @property
    def arena_bytes(self) -> int:
        """Size of all arenas: activations, scratch and state."""
        return sum(arena.bytes for arena in self.arenas)

    @property
    def arena_align(self) -> int:
        """Alignment that every arena needs."""
        return max((buffer.align for buffer in self.buffers), default=1)

    def address(self, tensor: Tensor) -> int:
        """First byte of a tensor, from the start of the arena that it lies in."""
        place = self.places[tensor]
        return self.offsets[place.buffer] + place.offset

    def touched(self, step: FlatStep) -> tuple[Buffer, ...]:
        """The buffers that a step reads or writes bytes of."""
        match step:
            case Call():
                tensors = (*step.kernel.reads, *step.kernel.updates, *step.kernel.writes)
                scratch = (step.scratch,) if step.scratch else ()
                touched = (t for t in tensors if not t.is_constant and t.type.bytes)
                return (*(self.places[tensor].buffer for tensor in touched), *scratch)
            case Shift():
                return (step.buffer,)
            case Fetch() | Store():
                line = (step.at_port.line,) if step.at_port and step.at_port.line else ()
                return (self.places[step.piece.tensor].buffer, *line)
            case Crop():
                return self.places[step.source.tensor].buffer, self.places[step.target.tensor].buffer

    def strips(self, fused: Fused) -> int:
        """How many strips of columns a chain runs in."""
        steps = chain.from_iterable(unrolled(step) for step in fused.steps)
        results = (step.op.results[0] for step in steps if isinstance(step, Call) and step.whole is fused.ops[-1])
        return len({self.pieces[tensor].columns if tensor in self.pieces else None for tensor in results})

    def slices(self, fused: Fused) -> int:
        """How many slices of channels a chain runs in; 0 where it takes all of them at once."""
        steps = chain.from_iterable(unrolled(step) for step in fused.steps)
        results = (step.op.results[0] for step in steps if isinstance(step, Call) and step.whole is fused.ops[0])
        return len({self.pieces[t].channels for t in results if t in self.pieces and self.pieces[t].channels})

    def live_buffers(self, step: int) -> tuple[Buffer, ...]:
        """The buffers that are live at a step."""
        return tuple(buffer for buffer in self.buffers if buffer.first_step <= step <= buffer.last_step)


def unrolled(step: Step) -> Iterable[FlatStep]:
    """The steps that one step consists of, in execution order."""
    match step:
        case Loop():
            return chain.from_iterable(step.iterations)
        case Strips():
            return chain.from_iterable(unrolled(inner) for strip in step.iterations for inner in strip)
        case Fused():
            return chain.from_iterable(unrolled(inner) for inner in step.steps)
    return (step,)
