"""What a plan does, as a document: buffers over time, segments, steps, operators, constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import groupby

from tinygen.ir.graph import Op
from tinygen.ir.rows import Piece, every_row, row_bytes
from tinygen.planner.memory.block import Part, runs
from tinygen.planner.memory.occupancy import Occupancy, occupancy
from tinygen.planner.schedule.constants import shared_tables
from tinygen.planner.schedule.schedule import (
    Buffer,
    BufferKind,
    Call,
    Crop,
    Fetch,
    FlatStep,
    Fused,
    Loop,
    Schedule,
    Shift,
    Step,
    Store,
    Strips,
    unrolled,
)
from tinygen.report.operators import OperatorRow, kind, operator_rows


class BufferRole(Enum):
    """What a buffer is for."""

    INPUT = "input"
    OUTPUT = "output"
    WHOLE = "whole tensor"
    RING = "ring of rows"
    SLICE = "slice of channels"
    STATE = "state of a stream"
    SUMS = "running sums"
    SCRATCH = "scratch"


@dataclass(frozen=True)
class LivePart:
    """Bytes of the arena that hold something from one tick to another.

    A step is two ticks: 2 * step, at which it reads, and 2 * step + 1, from which its results are there.
    """

    offset: int  # from the start of the arena in its memory
    bytes: int
    first_tick: int
    last_tick: int  # inclusive


@dataclass(frozen=True)
class BufferRow:
    """A range of the arena."""

    label: str  # short, such as "rows of 3"
    name: str
    role: BufferRole
    memory: str
    offset: int  # from the start of the arena in that memory
    bytes: int
    first_step: int
    last_step: int
    held_rows: int | None  # of a ring
    all_rows: int | None  # of the tensor behind it
    parts: tuple[LivePart, ...]


@dataclass(frozen=True)
class ArenaRow:
    """What buffers take of one memory of the board."""

    memory: str
    bytes: int


@dataclass(frozen=True)
class StepRow:
    """One step: a call, a move of rows, or rows from or to the application."""

    text: str
    live_bytes: int


@dataclass(frozen=True)
class SegmentStage:
    """An operator in a segment, and where it leaves its result."""

    index: int  # in the model file
    operator: str
    name: str
    calls: int
    stores: tuple[BufferRow, ...]


@dataclass(frozen=True)
class LoopRow:
    """A loop of the generated code."""

    iterations: int
    steps: int  # of one iteration
    loops: tuple["LoopRow", ...] = ()  # in its body: strips have loops over rows


@dataclass(frozen=True)
class SegmentRow:
    """Operators that run in parts, fused, or one after the other on whole tensors."""

    first_step: int
    end_step: int  # exclusive
    is_fused: bool
    is_descending: bool  # from the last row to the first
    slices: int  # of channels; 0 where it runs by rows or on whole tensors
    strips: int  # of columns; 1 where it runs on whole rows
    stages: tuple[SegmentStage, ...]
    loops: tuple[LoopRow, ...]
    moves: int  # of rows within rings
    fetches: int


@dataclass(frozen=True)
class ConstantRow:
    """A table in flash."""

    index: int  # of the first operator that uses it
    operator: str
    name: str
    bytes: int


@dataclass(frozen=True)
class PlanReport:
    """The schedule of a model."""

    arenas: tuple[ArenaRow, ...]
    arena_bytes: int  # of all of them
    lower_bound_bytes: int
    live_bytes: tuple[int, ...]  # at each tick
    peak_bytes: int
    peak_step: int
    steps: tuple[StepRow, ...]
    buffers: tuple[BufferRow, ...]
    segments: tuple[SegmentRow, ...]
    operators: tuple[OperatorRow, ...]
    constants: tuple[ConstantRow, ...]  # the largest first


def describe(schedule: Schedule) -> PlanReport:
    """The document of a schedule."""
    return _Description(schedule, occupancy(schedule)).plan()


@dataclass(frozen=True)
class _Description:
    schedule: Schedule
    occupancy: Occupancy

    def plan(self) -> PlanReport:
        schedule, levels = self.schedule, self.occupancy.levels
        return PlanReport(
            arenas=tuple(ArenaRow(arena.memory.name, arena.bytes) for arena in schedule.arenas),
            arena_bytes=schedule.arena_bytes,
            lower_bound_bytes=schedule.lower_bound_bytes,
            live_bytes=levels,
            peak_bytes=self.occupancy.peak_bytes,
            peak_step=self.occupancy.peak_step,
            steps=tuple(
                StepRow(self._text(step), max(levels[2 * index : 2 * index + 2]))
                for index, step in enumerate(schedule.flat_steps)
            ),
            buffers=tuple(self.rows.values()),
            segments=self._segments(),
            operators=operator_rows(schedule),
            constants=_constants(schedule),
        )

    @cached_property
    def rows(self) -> Mapping[Buffer, BufferRow]:
        """Every buffer's row."""
        return {buffer: self._buffer(buffer) for buffer in self.schedule.buffers}

    @cached_property
    def writers(self) -> Mapping[Buffer, Op]:
        """The operator that writes first into a buffer; inputs have none."""
        found: dict[Buffer, Op] = {}
        for call in self.schedule.calls:
            written = [self.schedule.places[tensor].buffer for tensor in call.kernel.writes]
            for buffer in (*written, *([call.scratch] if call.scratch else [])):
                found.setdefault(buffer, call.whole)
        return found

    @cached_property
    def contents(self) -> Mapping[Buffer, Piece]:
        """For buffers that hold rows, one piece of the tensor."""
        places = self.schedule.places
        return {places[tensor].buffer: piece for tensor, piece in self.schedule.pieces.items() if tensor in places}

    def _buffer(self, buffer: Buffer) -> BufferRow:
        piece = self.contents.get(buffer) if buffer.kind is BufferKind.RING else None
        return BufferRow(
            label=self._label(buffer),
            name=buffer.name,
            role=self._role(buffer),
            memory=self.schedule.memory(buffer).name,
            offset=self.schedule.offsets[buffer],
            bytes=buffer.bytes,
            first_step=buffer.first_step,
            last_step=buffer.last_step,
            held_rows=buffer.bytes // row_bytes(piece.whole) if piece else None,
            all_rows=piece.whole.shape[1] if piece else None,
            parts=_live_parts(self.occupancy.blocks[buffer].parts, self.schedule.offsets[buffer]),
        )

    def _label(self, buffer: Buffer) -> str:
        port = self._ports.get(buffer)
        if port is not None:
            return port
        writer = self.writers.get(buffer)
        what = {
            BufferKind.SCRATCH: "scratch of ",
            BufferKind.SUMS: "sums of ",
            BufferKind.RING: "rows of ",
            BufferKind.SLICE: "slice of ",
        }
        return f"{what.get(buffer.kind, '')}{writer.source.index}" if writer else buffer.name

    @cached_property
    def _ports(self) -> Mapping[Buffer, str]:
        """Buffers that hold inputs of the model."""
        places = self.schedule.places
        fetches = (step for step in self.schedule.flat_steps if isinstance(step, Fetch))
        found = {places[fetch.piece.tensor].buffer: f"input {fetch.port}" for fetch in fetches}
        for index, tensor in enumerate(self.schedule.graph.input_tensors):
            if tensor not in self.schedule.fetched:
                found[places[tensor].buffer] = f"input {index}"
        return found

    def _role(self, buffer: Buffer) -> BufferRole:
        if buffer in self._ports:
            return BufferRole.INPUT
        if buffer in self._outputs:
            return BufferRole.OUTPUT
        return BufferRole[buffer.kind.name]

    @cached_property
    def _outputs(self) -> frozenset[Buffer]:
        """Buffers that hold outputs of the model, or rows of them that the application takes."""
        places, stored = self.schedule.places, self.schedule.stored
        stores = (step.piece.tensor for step in self.schedule.flat_steps if isinstance(step, Store))
        kept = (t for t in self.schedule.graph.output_tensors if not t.is_constant and t not in stored)
        return frozenset(places[tensor].buffer for tensor in (*stores, *kept))

    def _text(self, step: FlatStep) -> str:
        match step:
            case Fetch():
                return f"fetch {_rows(step.piece)} of input {step.port}"
            case Store():
                return f"store {_rows(step.piece)} of output {step.port}"
            case Crop():
                target = self.schedule.places[step.target.tensor].buffer
                return f"copy {_rows(step.target)} to {self.rows[target].label}"
            case Shift():
                return f"move {step.bytes} bytes within {self.rows[step.buffer].label}"
            case Call():
                piece = self.schedule.pieces.get(step.op.results[0])
                is_part = piece is not None and (piece.channels or piece.rows != every_row(piece.whole))
                part = f", {_rows(piece)}" if piece and is_part else ""
                return f"{step.whole.source.index} {kind(step.whole)}{part}"

    def _segments(self) -> tuple[SegmentRow, ...]:
        segments = []
        start = 0
        for is_fused, group in groupby(self.schedule.steps, key=lambda step: isinstance(step, Fused)):
            together = tuple(group)
            for steps in ((step,) for step in together) if is_fused else (together,):
                segments.append(self._segment(steps, start))
                start = segments[-1].end_step
        return tuple(segments)

    def _segment(self, steps: tuple[Step, ...], start: int) -> SegmentRow:
        inner = [step for outer in steps for step in (outer.steps if isinstance(outer, Fused) else (outer,))]
        flat = [each for step in inner for each in unrolled(step)]
        calls = [step for step in flat if isinstance(step, Call)]
        return SegmentRow(
            first_step=start,
            end_step=start + len(flat),
            is_fused=any(call.split_from for call in calls),
            is_descending=self._descends(calls),
            slices=max((self.schedule.slices(step) for step in steps if isinstance(step, Fused)), default=0),
            strips=max((self.schedule.strips(step) for step in steps if isinstance(step, Fused)), default=1),
            stages=tuple(self._stage(op, calls) for op in dict.fromkeys(call.whole for call in calls)),
            loops=_loops(inner),
            moves=sum(isinstance(step, Shift) for step in flat),
            fetches=sum(isinstance(step, Fetch) for step in flat),
        )

    def _stage(self, op: Op, calls: list[Call]) -> SegmentStage:
        own = [call for call in calls if call.whole is op]
        written = dict.fromkeys(self.schedule.places[tensor].buffer for call in own for tensor in call.kernel.writes)
        return SegmentStage(
            op.source.index, kind(op), op.name, len(own), tuple(self.rows[buffer] for buffer in written)
        )

    def _descends(self, calls: list[Call]) -> bool:
        first: dict[Op, int] = {}
        for call in calls:
            piece = self.schedule.pieces.get(call.op.results[0])
            if piece and piece.rows.first != first.setdefault(call.whole, piece.rows.first):
                return piece.rows.first < first[call.whole]
        return False


def _live_parts(parts: tuple[Part, ...], offset: int) -> tuple[LivePart, ...]:
    """Rectangles that cover the parts; neighbours that live from the same tick to the same tick are one."""
    found: list[LivePart] = []
    above: dict[tuple[int, int], LivePart] = {}
    for part in parts:
        below, above = above, {}
        for first, last in runs(part.live):
            start = offset + part.offset
            one = below.get((first, last))
            if one and one.offset + one.bytes == start:
                found.remove(one)
                start = one.offset
            above[first, last] = LivePart(start, offset + part.offset + part.bytes - start, first, last)
            found.append(above[first, last])
    return tuple(found)


def _loops(steps: Sequence[Step]) -> tuple[LoopRow, ...]:
    return tuple(
        LoopRow(len(step.iterations), sum(1 for inner in body for _ in unrolled(inner)), _loops(body))
        for step in steps
        if isinstance(step, Loop | Strips)
        for body in step.iterations[:1]
    )


def _rows(piece: Piece) -> str:
    if piece.channels:
        return f"channels {piece.channels.first} to {piece.channels.end - 1}"
    first, last = piece.rows.first, piece.rows.end - 1
    rows = f"row {first}" if first == last else f"rows {first} to {last}"
    return f"{rows}, columns {piece.columns.first} to {piece.columns.end - 1}" if piece.columns else rows


def _constants(schedule: Schedule) -> tuple[ConstantRow, ...]:
    stored = dict.fromkeys(shared_tables(schedule).values())
    users = {table.stored: call.whole for call in reversed(schedule.calls) for table in call.kernel.tables}
    rows = (ConstantRow(users[table].source.index, kind(users[table]), table.name, table.bytes) for table in stored)
    return tuple(sorted(rows, key=lambda row: -row.bytes))
