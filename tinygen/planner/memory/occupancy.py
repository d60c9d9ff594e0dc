"""What the arenas hold while a schedule runs, byte by byte: derived from its steps alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinygen.ir.tensor import Tensor
from tinygen.planner.memory.block import Block, Part, live_bytes, read_tick, written_tick
from tinygen.planner.memory.lifetimes import Access, Traffic, blocks
from tinygen.planner.schedule.schedule import Buffer, Call, Crop, Fetch, FlatStep, Schedule, Shift, Store


@dataclass(frozen=True)
class Live:
    """Bytes of a buffer that hold something at a step."""

    buffer: Buffer
    bytes: int


@dataclass(frozen=True)
class Occupancy:
    """The buffers with the ticks at which their parts are live."""

    blocks: Mapping[Buffer, Block]
    levels: tuple[int, ...]  # live bytes at each tick, two a step

    @property
    def peak_bytes(self) -> int:
        """The most bytes that are live at once."""
        return max(self.levels)

    @property
    def peak_step(self) -> int:
        """The first step at which most bytes are live."""
        return self.levels.index(self.peak_bytes) // 2

    def at(self, step: int) -> tuple[Live, ...]:
        """What is live at a step, when it reads or when its results are there: the larger of the two; largest first."""
        ticks = (read_tick(step), written_tick(step))
        tick = 1 << max(ticks, key=lambda tick: self.levels[tick])
        found = (
            Live(buffer, sum(part.bytes for part in block.parts if part.live & tick))
            for buffer, block in self.blocks.items()
        )
        return tuple(sorted((live for live in found if live.bytes), key=lambda live: -live.bytes))


def occupancy(schedule: Schedule, *, may_move: bool = False) -> Occupancy:
    """The occupancy of a schedule; resident inputs are there before its first step, outputs after its last one.
    `may_move`: where its buffers may yet lie elsewhere, no result holds bytes that it may lie over."""
    traffic = [step_traffic(schedule, step, may_move=may_move) for step in schedule.flat_steps]
    kept = (tensor for tensor in schedule.graph.output_tensors if tensor not in schedule.stored)
    outputs = (tensor for tensor in kept if not tensor.is_constant)
    states = [state.tensor for state in schedule.graph.states]
    traffic.append(Traffic(reads=tuple(_access(schedule, tensor) for tensor in (*outputs, *states)), writes=()))
    inputs = [tensor for tensor in schedule.graph.input_tensors if tensor not in schedule.fetched]
    found = blocks(
        traffic,
        sizes={buffer: buffer.bytes for buffer in schedule.buffers},
        aligns={buffer: buffer.align for buffer in schedule.buffers},
        names={buffer: buffer.name for buffer in schedule.buffers},
        before=frozenset(schedule.places[tensor].buffer for tensor in (*inputs, *states)),
        after=frozenset(),
    )
    ticks = 2 * max(1, len(schedule.flat_steps))
    unread = _written_unread(schedule, traffic[0])
    during = {buffer: _without(_until(block, ticks), buffer, unread, schedule) for buffer, block in found.items()}
    levels = live_bytes(list(during.values()))
    return Occupancy(during, (*levels, *[0] * (ticks - len(levels))))


def _until(block: Block, ticks: int) -> Block:
    """The block before a tick."""
    parts = (part._replace(live=part.live & ((1 << ticks) - 1)) for part in block.parts)
    return replace(block, parts=tuple(part for part in parts if part.live), pattern=None)


@dataclass(frozen=True)
class _Span:
    """Bytes of a memory."""

    memory: str
    start: int
    end: int

    def outside(self, hole: "_Span") -> list["_Span"]:
        """What the hole leaves of it."""
        if self.memory != hole.memory or hole.end <= self.start or self.end <= hole.start:
            return [self]
        found = [replace(self, end=hole.start), replace(self, start=hole.end)]
        return [span for span in found if span.start < span.end]


def _outside(spans: Sequence[_Span], holes: Sequence[_Span]) -> list[_Span]:
    for hole in holes:
        spans = [part for span in spans for part in span.outside(hole)]
    return list(spans)


def _written_unread(schedule: Schedule, first: Traffic[Buffer]) -> list[_Span]:
    """What the first step writes without reading it: bytes of an input that lay there were never needed."""
    reads, writes = ([_span(schedule, access) for access in accesses] for accesses in (first.reads, first.writes))
    return _outside(writes, reads)


def _without(block: Block, buffer: Buffer, unread: Sequence[_Span], schedule: Schedule) -> Block:
    """The block without bytes that hold something at the first tick alone and are written over unread."""
    start = schedule.offsets[buffer]
    parts: list[Part] = []
    for part in block.parts:
        span = _span(schedule, Access(buffer, part.offset, part.bytes))
        spans = _outside([span], unread) if part.live == 1 else [span]
        parts += [Part(s.start - start, s.end - s.start, part.live) for s in spans]
    return replace(block, parts=tuple(parts))


def _span(schedule: Schedule, access: Access[Buffer]) -> _Span:
    memory, start = _location(schedule, access)
    return _Span(memory, start, start + access.bytes)


def step_traffic(schedule: Schedule, step: FlatStep, *, may_move: bool) -> Traffic[Buffer]:
    """What a step reads and writes, its scratch included. `may_move`: see `occupancy`."""
    match step:
        case Fetch():
            return Traffic((), (_access(schedule, step.piece.tensor), *_line(step)))
        case Store():
            return Traffic((_access(schedule, step.piece.tensor),), tuple(_line(step)))
        case Crop():
            return Traffic((_access(schedule, step.source.tensor),), (_access(schedule, step.target.tensor),))
        case Shift():
            source = Access(step.buffer, step.source, step.bytes)
            return Traffic((source,), (Access(step.buffer, step.target, step.bytes),))
        case Call():
            return _call(schedule, step, may_move=may_move)


def _line(step: Fetch | Store) -> Iterator[Access[Buffer]]:
    """Where rows of planes pass."""
    if step.at_port and step.at_port.line:
        yield Access(step.at_port.line, 0, step.at_port.line.bytes)


def _call(schedule: Schedule, call: Call, *, may_move: bool) -> Traffic[Buffer]:
    kernel = call.kernel
    operands = [tensor for tensor in (*kernel.reads, *kernel.updates) if not tensor.is_constant]
    reads = tuple(_access(schedule, tensor) for tensor in operands)
    writes = tuple(_access(schedule, tensor) for tensor in kernel.writes)
    if call.scratch:
        writes += (Access(call.scratch, 0, call.scratch.bytes),)
    if call.lead_bytes is not None:
        if may_move:
            return Traffic(reads, writes, reads[:1], call.lead_bytes)
        return _over_its_operand(schedule, reads, writes)
    shared = {*kernel.in_place, *kernel.updates}
    in_place = (read for tensor, read in zip(operands, reads, strict=True) if tensor in shared)
    result = _location(schedule, writes[0])
    return Traffic(reads, writes, tuple(read for read in in_place if _location(schedule, read) == result))


def _over_its_operand(
    schedule: Schedule, reads: tuple[Access[Buffer], ...], writes: tuple[Access[Buffer], ...]
) -> Traffic[Buffer]:
    """A call whose result may lie over what it reads first: bytes of both are one, all others hold something from the
    first to the last."""
    (source, *other_reads), (target, *other_writes) = reads, writes
    (memory, start), (other_memory, begin) = _location(schedule, source), _location(schedule, target)
    first, end = max(start, begin), min(start + source.bytes, begin + target.bytes)
    if memory != other_memory or first >= end:
        return Traffic(reads, writes)
    read, written = (
        Access(each.key, each.offset + first - at, end - first) for each, at in ((source, start), (target, begin))
    )
    kept = _beside(source, read), _beside(target, written)
    return Traffic((read, *kept[0], *other_reads), (written, *kept[1], *other_writes), (read,))


def _beside(access: Access[Buffer], part: Access[Buffer]) -> list[Access[Buffer]]:
    """What is left of bytes without a part of them."""
    end, part_end = access.offset + access.bytes, part.offset + part.bytes
    found = (
        Access(access.key, access.offset, part.offset - access.offset),
        Access(access.key, part_end, end - part_end),
    )
    return [each for each in found if each.bytes]


def _access(schedule: Schedule, tensor: Tensor) -> Access[Buffer]:
    place = schedule.places[tensor]
    return Access(place.buffer, place.offset, tensor.type.bytes)


def _location(schedule: Schedule, access: Access[Buffer]) -> tuple[str, int]:
    """Memory and offset from the start of its arena."""
    return schedule.memory(access.key).name, schedule.offsets[access.key] + access.offset
