"""From a segmentation to a schedule: row steps become calls on pieces of tensors, shifts, fetches, and loops."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinygen.ir.graph import Op, Tile
from tinygen.ir.rows import Channels, Columns, Piece, Rows, all_rows, has_rows, piece, slice_of
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.ops.channel_sum import SlicePart
from tinygen.ops.running_sum import SumPart
from tinygen.planner.chains.demand import (
    AddRows,
    Compute,
    CopyRows,
    FetchRows,
    FinishSum,
    Moving,
    RowStep,
    ShiftRows,
    StoreRows,
    Touch,
)
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import (
    BufferKey,
    PlaneLine,
    Scratch,
    Segment,
    memory_of_traces,
    strips_of_steps,
    trace_of_steps,
)
from tinygen.planner.chains.slices import AddSlice, FinishRows
from tinygen.planner.memory.block import Block
from tinygen.planner.schedule.parts import form, joined
from tinygen.planner.schedule.roll import Roller
from tinygen.planner.schedule.schedule import (
    AtPort,
    Buffer,
    BufferKind,
    Call,
    Crop,
    Fetch,
    FlatStep,
    Fused,
    Place,
    Schedule,
    Shift,
    Step,
    Store,
)
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.one_order import OrderedPart, in_one_order
from tinygen.targets.board import Board


@dataclass(eq=False)
class _Lowering:
    """Buffers, places and kernels while steps become calls."""

    network: Network
    found: Findings
    buffers: dict[BufferKey, Buffer]
    places: dict[Tensor, Place] = field(default_factory=dict)
    pieces: dict[Tensor, Piece] = field(default_factory=dict)
    same: dict[Call, Hashable] = field(default_factory=dict)
    descending: bool = False  # whether rows come from the last to the first
    strips: dict[tuple[Op, Columns], Tile | None] = field(default_factory=dict)
    parts: dict[Op, dict[Hashable, OrderedPart]] = field(default_factory=dict)  # of each operator
    chosen: Mapping[Hashable, Kernel] = field(default_factory=dict)  # for some parts

    def lower(self, step: RowStep) -> FlatStep:
        """One step."""
        match step:
            case Compute():
                return self._compute(step)
            case AddRows():
                return self._add_rows(step)
            case AddSlice():
                return self._add_slice(step)
            case FinishRows():
                return self._finish_rows(step)
            case FinishSum():
                sum = self.network.sums[step.op]
                self._put(sum.sums, step.reads[0])
                for result, touch in zip(step.op.results, step.writes, strict=True):
                    self._put(result, touch)
                return self._call(sum.finish, step.op, ("finish", step.op))
            case ShiftRows():
                kept, moved = step.reads[0], step.writes[0]
                return Shift(self.buffers[step.tensor], kept.offset, moved.offset, moved.bytes)
            case FetchRows():
                part = self._piece(step.tensor, step.rows, step.writes[0], step.columns)
                return Fetch(self.network.input_port(step.tensor), part, self._at_port(step.tensor))
            case StoreRows():
                part = self._piece(step.tensor, step.rows, step.reads[0])
                return Store(self.network.output_port(step.tensor), part, self._at_port(step.tensor))
            case CopyRows():
                source, target = (
                    self._piece(step.tensor, step.rows, touch, step.columns) for touch in (*step.reads, *step.writes)
                )
                return Crop(source, target)
        raise TypeError(f"unknown step {step}")

    def _at_port(self, tensor: Tensor) -> AtPort | None:
        planes = self.network.at_ports.get(tensor)
        return AtPort(planes.op, self.buffers.get(PlaneLine(planes.op))) if planes else None

    def _compute(self, step: Compute) -> Call:
        if step.channels is not None:
            return self._compute_slice(step, step.channels)
        result = step.op.results[0]
        touched = zip((*step.op.results, *step.op.variable_operands), (*step.writes, *step.reads), strict=True)
        if all(touch.bytes == tensor.type.bytes for tensor, touch in touched) or not has_rows(result):
            for tensor, touch in zip(step.op.results, step.writes, strict=True):
                self._put(tensor, touch)
            for tensor, touch in zip(step.op.variable_operands, step.reads, strict=True):
                self._put(tensor, touch)
            return self._call(step.op, step.op, ("whole", step.op), reads_all=True)
        tile = self._tile(step)
        self._register(tile, step)
        shapes = tuple(part.tensor.shape for part in tile.pieces)
        key = ("rows", step.op, shapes, tile.op.tile_kind)
        return self._call(tile.op, step.op, key, reads_all=True)

    def _tile(self, step: Compute) -> Tile:
        tile: Tile | None
        if step.columns is None:
            tile = step.op.tile(step.rows)
        else:
            if (step.op, step.columns) not in self.strips:
                self.strips[step.op, step.columns] = step.op.strip(step.columns)
            strip = self.strips[step.op, step.columns]
            tile = strip.tile(step.rows) if strip else None
        assert tile is not None, "only operators with tiles are in chains"
        return tile

    def _compute_slice(self, step: Compute, channels: Channels) -> Call:
        tile = self.network.tiles.of(step.op, channels)
        self._register(tile, step)
        shapes = tuple(part.tensor.shape for part in tile.pieces)
        return self._call(tile.op, step.op, ("slice", step.op, channels), ("slice", step.op, shapes))

    def _register(self, tile: Tile, step: RowStep) -> None:
        for part, touch in zip(tile.pieces, (*step.writes, *step.reads), strict=True):
            self._put(part.tensor, touch)
            if part.tensor is not part.whole:
                self.pieces[part.tensor] = part

    def _add_rows(self, step: AddRows) -> Call:
        sum = self.network.sums[step.op]
        rows = self._piece(sum.input, step.rows, step.reads[0])
        self._put(sum.sums, step.writes[0])
        before = sum.sums if len(step.reads) > 1 else None
        after = Tensor(f"{sum.sums.name}[{step.rows.end}]", sum.sums.type)
        self._put(after, step.writes[0])
        self.pieces[after] = Piece(after, sum.sums, all_rows(sum.sums))
        op = sum.add(SumPart(rows.tensor, step.rows.first, before, after, self.descending))
        return self._call(op, step.op, ("add", step.op, step.rows.count, before is None))

    def _add_slice(self, step: AddSlice) -> Call:
        sum = self.network.channel_sums[step.op]
        part = slice_of(sum.input, step.channels)
        self.pieces[part.tensor] = part
        self._put(part.tensor, step.reads[0])
        self._put(sum.sums, step.writes[0])
        after = Tensor(f"{sum.sums.name}[:{step.channels.end}]", sum.sums.type)
        self._put(after, step.writes[0])
        self.pieces[after] = Piece(after, sum.sums, all_rows(sum.sums))
        op = sum.add(SlicePart(part.tensor, step.channels, sum.sums if len(step.reads) > 1 else None, after))
        return self._call(op, step.op, ("add", step.op, step.channels), ("add", step.op, step.channels.count))

    def _finish_rows(self, step: FinishRows) -> Call:
        finish = self.network.channel_sums[step.op].finish
        if step.writes[0].bytes < finish.output.type.bytes:
            tile = finish.tile(step.rows)
            assert tile is not None, "sums have the rows of the result"
            self._register(tile, step)
            return self._call(tile.op, step.op, ("finish", step.op))
        self._put(finish.input, step.reads[0])
        self._put(finish.output, step.writes[0])
        return self._call(finish, step.op, ("finish", step.op))

    def _piece(self, tensor: Tensor, rows: Rows, touch: Touch, columns: Columns | None = None) -> Piece:
        if not has_rows(tensor) or (rows == all_rows(tensor) and columns is None):
            part = Piece(tensor, tensor, rows)
        else:
            part = piece(tensor, rows, columns)
            self.pieces[part.tensor] = part
        self._put(part.tensor, touch)
        return part

    def _put(self, tensor: Tensor, touch: Touch) -> None:
        root, offset = self.network.sharing.root(touch.key)
        self.places[tensor] = Place(self.buffers[root], offset + touch.offset)

    def _call(
        self, op: Op, whole: Op, key: Hashable, similar: Hashable | None = None, *, reads_all: bool = False
    ) -> Call:
        """A call of `op`; operators of equal key share the tables of one kernel.

        Those of equal `similar` may be iterations of one loop, if they have the same kernel with other tables. Where
        it `reads_all` weights of the whole, other parts may read them in the same order.
        """
        scratch_bytes = self.network.kernels[whole].scratch_bytes  # what there is room for
        first, kernel = self.found.kernel_of_part(op, scratch_bytes, key)
        kernel = self.chosen.get(key, kernel)
        if reads_all:
            part = self.parts.setdefault(whole, {}).setdefault(key, OrderedPart(first, kernel, scratch_bytes))
            part.calls += 1
        moved = dict(zip((*first.operands, *first.results), (*op.operands, *op.results), strict=True))
        kernel = replace(
            kernel,
            reads=tuple(moved.get(t, t) for t in kernel.reads),  # constants that the kernel has laid out anew stay
            writes=tuple(moved[t] for t in kernel.writes),
            updates=tuple(moved[t] for t in kernel.updates),
            in_place=tuple(moved[t] for t in kernel.in_place),
        )
        scratch = self.buffers[Scratch(whole)] if kernel.scratch_bytes else None
        call = Call(op, kernel, scratch, split_from=None if op is whole else whole)
        self.same[call] = key if similar is None else (similar, form(kernel), scratch)
        return call

    def joined(self, steps: Sequence[FlatStep]) -> list[FlatStep]:
        """The steps on slices of channels, with their constants as parts of larger tables."""
        found = joined(steps)
        for old, new in found.items():
            if isinstance(old, Call) and isinstance(new, Call):
                self.same[new] = self.same[old]
        return list(found.values())


def split(
    network: Network,
    segments: tuple[Segment, ...],
    board: Board,
    toolbox: Toolbox,
    solver: Solver = Solver.BUILTIN,
) -> Schedule:
    """The schedule of a segmentation, with the smallest arena found."""
    return split_with(Findings(network, toolbox, solver), segments, board)


def split_with(found: Findings, segments: tuple[Segment, ...], board: Board) -> Schedule:
    """The same, for a network that something is known about."""
    network = found.with_kernels(segments)
    bound_bytes, placed = found.memory(segments).bound_bytes, found.placed(segments)
    moving = {key: Moving(choice) for key, choice in placed.choices.items() if isinstance(key, Tensor) and choice}
    rows = [strips_of_steps(network, segment, moving) for segment in segments]
    in_order = [step for strips in rows for strip in strips for step in strip]
    needed = memory_of_traces(network, [trace_of_steps(network, [in_order])])
    blocks = {key: block for key, (block,) in needed.blocks.items()}
    sliced = frozenset(_sliced(in_order))
    buffers = {key: _buffer(network, key, block, sliced) for key, block in blocks.items()}
    lowering = _Lowering(network, found, buffers)
    steps = _lowered(lowering, segments, rows)
    if chosen := in_one_order(list(lowering.parts.values()), found):
        lowering = _Lowering(network, found, buffers, chosen=chosen)
        steps = _lowered(lowering, segments, rows)
    return Schedule(
        graph=network.graph,
        board=board,
        steps=steps,
        buffers=tuple(buffers.values()),
        places=lowering.places,
        offsets={buffers[key]: offset for key, offset in placed.offsets.items()},
        lower_bound_bytes=bound_bytes,
        pieces=lowering.pieces,
        is_interleaved=True,
        rereads_input=network.rereads_input and bool(network.fetched),
        solver=found.solver,
    )


def _lowered(
    lowering: _Lowering, segments: Sequence[Segment], rows: Sequence[Sequence[Sequence[RowStep]]]
) -> tuple[Step, ...]:
    """The steps of all segments; `rows`: those of the strips of each."""
    network = lowering.network
    for tensor in network.graph.tensors:
        root = network.root(tensor)
        if root in lowering.buffers and lowering.buffers[root].kind is BufferKind.WHOLE:
            lowering.places[tensor] = Place(lowering.buffers[root], network.sharing.root(tensor)[1])
    steps: list[Step] = []
    for segment, row_steps in zip(segments, rows, strict=True):
        lowering.descending = segment.descending
        flat = [[lowering.lower(step) for step in strip] for strip in row_steps]
        if not segment.is_chain and len(row_steps[0]) == 1:
            steps += flat[0]
        else:  # a chain, or an operator whose input is fetched, or whose result is stored
            ops = network.calls[segment.first : segment.end]
            strips = [lowering.joined(strip) for strip in flat] if segment.slices > 1 else flat
            steps.append(Fused(ops, tuple(Roller(lowering.places, lowering.same).roll(strips))))
    return tuple(steps)


def _sliced(steps: Iterable[RowStep]) -> Iterator[Tensor]:
    """The tensors that are computed slice by slice."""
    return (step.writes[0].key for step in steps if isinstance(step, Compute) and step.channels)


def _buffer(network: Network, key: BufferKey, block: Block, sliced: frozenset[Tensor]) -> Buffer:
    first = (block.live & -block.live).bit_length() - 1
    last = block.live.bit_length() - 1
    return Buffer(block.name, block.bytes, block.align, _kind(network, key, block, sliced), first // 2, last // 2)


def _kind(network: Network, key: BufferKey, block: Block, sliced: frozenset[Tensor]) -> BufferKind:
    if isinstance(key, Scratch | PlaneLine):
        return BufferKind.SCRATCH
    if key in {sum.sums for found in (network.sums, network.channel_sums) for sum in found.values()}:
        return BufferKind.SUMS
    if block.bytes == key.type.bytes:
        return BufferKind.WHOLE
    return BufferKind.SLICE if key in sliced else BufferKind.RING
