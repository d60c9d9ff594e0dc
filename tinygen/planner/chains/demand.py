"""Runs a chain of operators row by row, on demand: which rows are computed when, and where in its buffer each row lies.

The last operator asks for the rows it needs, its producers ask for theirs, and so on. A tensor inside the chain is held
in a ring: just the rows that somebody still needs, always contiguous. When rows are no longer needed the rest moves to
the start of the ring (`Moving`). Averages over whole images add up rows as they come. Nothing is computed twice, unless
a scale must be known first (`passes`).

A descending chain is the mirror image: it runs from the last row to the first, and rings hold their oldest row at the
end.

A chain may also be one strip of columns: then rings are narrower, and what is kept whole is read and written in part.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from tinygen.budget import STEPS
from tinygen.ir.graph import Op
from tinygen.ir.rows import Channels, Columns, Rows, all_columns, every_row, has_rows, pixel_bytes, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.ops.running_sum import RunningSum
from tinygen.planner.chains.passes import Passes, passes_of
from tinygen.planner.memory.lifetimes import Access

Touch = Access[Tensor]
"""Bytes of a tensor's buffer that a step reads or writes. Made as an `Access`, which is faster."""


class Moving(IntEnum):
    """When the rows of a ring that are still needed move to its start."""

    AT_ONCE = 0  # there is room at its end until the next row comes
    LATE = 1  # when that row needs the room, which is at its start until then, where a neighbour's end may be
    IN_TURN = 2  # before the first ring is written again, once those behind it have moved theirs: what is computed from
    # a row that is read for the last time may lie there until then, and be the newest row of the next ring


@dataclass(frozen=True)
class RowStep:
    """One step of a chain, as far as memory is concerned."""

    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]


@dataclass(frozen=True)
class Compute(RowStep):
    """An operator computes rows of its result."""

    op: Op
    rows: Rows
    columns: Columns | None = None  # all of them where None
    channels: Channels | None = None  # all of them where None, else of all rows


@dataclass(frozen=True)
class AddRows(RowStep):
    """Rows are added to the sums of an average; `reads` are the rows and, unless it is the first time, the sums."""

    op: Op
    rows: Rows


@dataclass(frozen=True)
class FinishSum(RowStep):
    """The sums of an average become its result."""

    op: Op


@dataclass(frozen=True)
class ShiftRows(RowStep):
    """The rows of a ring that are still needed move to its start."""

    tensor: Tensor


@dataclass(frozen=True)
class Wait(RowStep):
    """Nothing: where a ring could move its rows and does not, if moments shall agree whenever rings move theirs."""


WAIT = Wait((), ())


@dataclass(frozen=True)
class FetchRows(RowStep):
    """The application gives rows of an input."""

    tensor: Tensor
    rows: Rows
    columns: Columns | None = None  # all of them where None


@dataclass(frozen=True)
class StoreRows(RowStep):
    """The application takes rows of an output."""

    tensor: Tensor
    rows: Rows


@dataclass(frozen=True)
class CopyRows(RowStep):
    """Columns of rows are copied to where they lie without the others."""

    tensor: Tensor  # that they are columns of
    rows: Rows
    columns: Columns


class RowHalfway(NamedTuple):
    """Rows of an operand that the row in the middle of the result takes, and those of them that the next one takes."""

    needed: int
    kept: int


class RowReach(NamedTuple):
    """How far an operator has come in an operand."""

    end: int  # of the rows that its last one took
    current: int  # the first row that its last ones took
    following: int  # the first that the next one takes


class RowDemand:
    """Which rows of an operand rows of a result are computed from; each asked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Op, Tensor, int, int], Rows] = {}
        self._following: dict[tuple[Op, Tensor, bool], tuple[int, ...]] = {}
        self._several: dict[tuple[Op, Tensor], bool] = {}
        self._columns: dict[tuple[Op, Tensor, int, int], Columns | None] = {}
        self._halfway: dict[tuple[Op, Tensor], RowHalfway] = {}
        self._reach: dict[tuple[Op, Tensor, int, int], RowReach] = {}

    def following(self, op: Op, operand: Tensor, descending: bool) -> tuple[int, ...]:
        """By rows of the result that are there: the first row of the operand that the next one takes, and its height
        where all are there. Counted from the last row, where the chain descends."""
        key = (op, operand, descending)
        if key not in self._following:
            needed = [self.of(op, operand, Rows(row, row + 1)) for row in range(op.results[0].shape[1])]
            height = operand.shape[1]
            first = [height - rows.end for rows in reversed(needed)] if descending else [rows.first for rows in needed]
            self._following[key] = (*first, height)
        return self._following[key]

    def takes_several(self, op: Op, operand: Tensor) -> bool:
        """Whether any row of the result is computed from several."""
        if (op, operand) not in self._several:
            rows = range(op.results[0].shape[1])
            self._several[op, operand] = any(self.of(op, operand, Rows(row, row + 1)).count > 1 for row in rows)
        return self._several[op, operand]

    def columns(self, op: Op, operand: Tensor, columns: Columns) -> Columns | None:
        """The columns of an operand that some of the result are computed from; None where that takes more than columns,
        or none."""
        key = (op, operand, columns.first, columns.end)
        if key not in self._columns:
            needed = op.columns_needed(operand, columns) if has_rows(operand) else None
            self._columns[key] = needed if needed is not None and needed.count else None
        return self._columns[key]

    def reach(self, op: Op, operand: Tensor, done: int, count: int) -> RowReach:
        """With `done` rows of the result, the last of them `count`."""
        key = (op, operand, done, count)
        found = self._reach.get(key)
        if found is None:
            end = self.of(op, operand, Rows(done - 1, done)).end if done else 0
            is_all = done >= op.results[0].shape[1]
            following = operand.shape[1] if is_all else self.of(op, operand, Rows(done, done + 1)).first
            current = self.of(op, operand, Rows(done - count, done)).first if count else following
            found = self._reach[key] = RowReach(end, current, following)
        return found

    def halfway(self, op: Op, operand: Tensor) -> "RowHalfway":
        """What the row in the middle of the result takes."""
        if (op, operand) not in self._halfway:
            height = op.results[0].shape[1]
            needed = self.of(op, operand, Rows(height // 2, height // 2 + 1))
            kept = 0
            if height // 2 + 1 < height:
                kept = max(0, needed.end - self.of(op, operand, Rows(height // 2 + 1, height // 2 + 2)).first)
            self._halfway[op, operand] = RowHalfway(needed.count, kept)
        return self._halfway[op, operand]

    def of(self, op: Op, operand: Tensor, rows: Rows) -> Rows:
        """The rows; ValueError where they cannot be computed on their own."""
        key = (op, operand, rows.first, rows.end)
        found = self._known.get(key)
        if found is None:
            found = op.rows_needed(operand, rows)
            if found is None:
                raise ValueError(f"{op.name}: its rows {rows.first} to {rows.end - 1} cannot be computed on their own")
            self._known[key] = found
        return found


@dataclass(frozen=True)
class Strip:
    """Some columns of each tensor of a chain."""

    held: Mapping[Tensor, Columns]  # that are computed, fetched or copied
    read: Mapping[tuple[Op, Tensor], Columns]  # by operator and operand
    copied: Mapping[tuple[Op, Tensor], Tensor]  # the rings of operands of which columns are copied first


@dataclass(frozen=True)
class Chain:
    """Consecutive operators of a graph, and what is held of the tensors between them."""

    ops: tuple[Op, ...]
    rings: frozenset[Tensor]  # computed and read inside the chain only
    fetched: frozenset[Tensor]  # inputs of the model, read inside the chain only, which the application gives by rows
    sums: Mapping[Op, RunningSum]  # of the operators that are averages over whole images
    rows_per_call: int
    descending: bool = False
    moving: Mapping[Tensor, Moving] = field(default_factory=dict)  # of rings; at once where none is named
    waits: bool = False  # whether all choices of `moving` give equally many steps
    writers: Mapping[tuple[Op, Tensor], tuple[Op, ...]] = field(default_factory=dict)  # of what a reader sees by a view
    demand: RowDemand = field(default_factory=RowDemand)
    strip: Strip | None = None  # whole rows where None
    stored: frozenset[Tensor] = frozenset()  # outputs of the model, computed here, which the application takes by rows
    diagonal: frozenset[Op] = frozenset()  # operators whose results may lie over rows that they read for the last time

    @cached_property
    def passes(self) -> Passes:
        """How often it runs through its rows."""
        return passes_of(self.ops, self.rings)

    @property
    def copies(self) -> frozenset[Tensor]:
        """Rings of columns that are copied."""
        return frozenset(self.strip.copied.values()) if self.strip else frozenset()

    @property
    def held(self) -> frozenset[Tensor]:
        """Tensors of which just the rows that are needed are held."""
        return self.rings | self.fetched | self.copies


def steps_on_demand(chain: Chain, early: Sequence[RowStep] | None = None) -> list[RowStep]:
    """The steps of a chain. Every operator in it either has a tile for any of its rows, or a running sum.

    `early`: the steps where all rings move their rows at once, where they are known.
    """
    if any(chain.moving.values()) and early is None:
        early = steps_on_demand(replace(chain, moving={}))
    return _run(chain, held_bytes(early or ()))


def steps_without_moves(chain: Chain) -> list[RowStep]:
    """The same if rings had room for all rows: what lives then is what some step reads, and lives whenever rings move
    theirs."""
    late = replace(chain, moving=dict.fromkeys(chain.held, Moving.LATE))
    return _run(late, {tensor: 2 * tensor.type.bytes for tensor in chain.held})


def _run(chain: Chain, room: Mapping[Tensor, int]) -> list[RowStep]:
    steps = _Run(chain, room).run()
    return _mirrored(steps, chain) if chain.descending else steps


def held_bytes(steps: Sequence[RowStep]) -> dict[Tensor, int]:
    """Bytes of each buffer that the steps touch."""
    sizes: dict[Tensor, int] = {}
    for step in steps:
        for tensor, offset, bytes in (*step.reads, *step.writes):
            end = offset + bytes
            if sizes.get(tensor, -1) < end:
                sizes[tensor] = end
    return sizes


class _Lines:
    """Where rows of a tensor lie. Of a ring just [first, end) are needed, and row `start` would lie at its start."""

    def __init__(self, tensor: Tensor, strip: Strip | None, *, is_held: bool) -> None:
        columns = strip.held.get(tensor) if strip else None
        self.tensor = tensor
        self.is_held = is_held
        self.columns = columns  # that this strip computes, fetches or copies
        self.held_columns = columns if is_held else None  # that a row has where it lies; all where None
        self.row_bytes = 0  # where it lies
        if has_rows(tensor):
            held = self.held_columns
            self.row_bytes = row_bytes(tensor) if held is None else pixel_bytes(tensor) * held.count
        self.moving = Moving.AT_ONCE
        self.room = 0  # rows that fit, where it does not move them at once
        self.padding = 0  # rows above the first one that readers take whose results may lie over them
        self.is_padded = False  # whether there is room for these before the first row, until somebody has read it
        self.start = self.first = self.end = 0
        self.readers: list[_Reader] = []
        self.readers_now: list[_Reader] = []  # of the pass at hand

    def touch(self, first: int, end: int) -> Touch:
        """Rows [first, end), all columns that lie there."""
        return Access(self.tensor, (first - self.start) * self.row_bytes, (end - first) * self.row_bytes)

    def touch_columns(self, first: int, end: int, columns: Columns | None, *, descending: bool) -> Touch:
        """Some columns of rows."""
        held = self.held_columns or all_columns(self.tensor)
        if columns is None or columns == held:
            return self.touch(first, end)
        assert end - first == 1, "only one row of some columns is contiguous"
        skipped = held.end - columns.end if descending else columns.first - held.first
        pixel = pixel_bytes(self.tensor)
        return Access(self.tensor, (first - self.start) * self.row_bytes + skipped * pixel, columns.count * pixel)


class _Call:
    """An operator while its chain runs."""

    def __init__(self, op: Op, sum: RunningSum | None) -> None:
        self.op = op
        self.sum = sum
        self.done = 0  # rows of the result, or of the input of an average
        self.height = op.results[0].shape[1] if sum is None else 1  # rows that it computes; a sum does so at once
        self.results: list[_Lines] = []
        self.operands: list[_Operand] = []
        self.whole_reads = [Touch(tensor, 0, tensor.type.bytes) for tensor in op.variable_operands]


class _Operand:
    """What an operator reads by rows."""

    def __init__(self, tensor: Tensor, position: int, lines: _Lines, source: _Lines) -> None:
        self.tensor = tensor
        self.position = position  # among all that it reads
        self.lines = lines
        self.source = source  # where it is read: copied columns, or where it lies
        self.columns: Columns | None = None  # that are read of it, all that lie there where None
        self.height = tensor.shape[1] if has_rows(tensor) else 1
        self.producer: _Call | None = None
        self.writers: list[_Call] = []  # of what is seen by a view
        self.is_fetched = False

    def has(self, end: int) -> bool:
        """Whether rows up to `end` are known to be there without a look: its operator has computed them."""
        producer = self.producer
        if producer is None or self.writers or self.source is not self.lines:
            return False
        return producer.sum is None and producer.done >= end


class _Reader(NamedTuple):
    """Who reads rows of a ring."""

    call: _Call
    following: tuple[int, ...] | None  # first row that it will read, by rows that it has computed; None for averages
    by_copy: _Lines | None  # where it reads rows that are copied from the ring

    @property
    def next_row(self) -> int:
        """First row of the ring that it will still read."""
        done, sum = self.call.done, self.call.sum
        if self.following is None:
            assert sum is not None, "others know what follows"
            return done if done < sum.rows else sum.input.shape[1]
        if self.by_copy is None or done + 1 >= len(self.following):
            return self.following[done]
        return self.by_copy.end


class _Run:
    """A chain while it runs; where it descends, rows are counted from the last one."""

    def __init__(self, chain: Chain, room: Mapping[Tensor, int]) -> None:
        self._chain = chain
        self._descending = chain.descending
        self._demand = chain.demand
        self._held = chain.held
        self._lines: dict[Tensor, _Lines] = {}
        self._calls = {op: _Call(op, chain.sums.get(op)) for op in chain.ops}
        self._steps: list[RowStep] = []
        self._released: list[_Lines] = []  # rings with rows that nobody needs, since some last moved theirs in turn
        for tensor, moving in chain.moving.items():
            if tensor in self._held:
                lines = self._lines_of(tensor)
                lines.moving = moving
                lines.room = room.get(tensor, 0) // lines.row_bytes
        for call in self._calls.values():
            call.results = [self._lines_of(result) for result in call.op.results]
        producers = {result.tensor: call for call in self._calls.values() for result in call.results}
        for call in self._calls.values():
            call.operands = [self._operand(call, operand, producers) for operand in call.op.divided_operands]
            if call.op in chain.diagonal:
                self._pad(call)
        self._rewind()

    def _pad(self, call: _Call) -> None:
        """Leave room in rings for rows in the padding above the first ones that a call reads: there the result may lie
        from the first call on."""
        count = min(call.height, self._chain.rows_per_call)
        middle = min(call.height // 2, call.height - count)
        for operand in call.operands:
            if operand.source.is_held and call.sum is None:
                first, needed = (
                    self._demand.of(call.op, operand.tensor, self._actual(call.height, at, at + count)).count
                    for at in (0, middle)
                )
                operand.source.padding = max(operand.source.padding, needed - first)

    def _lines_of(self, tensor: Tensor) -> _Lines:
        if tensor not in self._lines:
            self._lines[tensor] = _Lines(tensor, self._chain.strip, is_held=tensor in self._held)
        return self._lines[tensor]

    def _operand(self, call: _Call, tensor: Tensor, producers: Mapping[Tensor, _Call]) -> _Operand:
        """How a call reads an operand, which is told who reads it."""
        op, strip = call.op, self._chain.strip
        copy = strip.copied.get((op, tensor)) if strip else None
        lines = self._lines_of(tensor)
        source = lines if copy is None else self._lines_of(copy)
        for each in {lines, source}:
            if each.is_held:
                following = self._demand.following(op, tensor, self._descending) if call.sum is None else None
                each.readers.append(_Reader(call, following, None if source is each else source))
        found = _Operand(tensor, op.variable_operands.index(tensor), lines, source)
        found.columns = strip.read[op, tensor] if strip else None
        found.producer = producers.get(tensor)
        found.writers = [self._calls[writer] for writer in self._chain.writers.get((op, tensor), ())]
        found.is_fetched = tensor in self._chain.fetched
        return found

    def run(self) -> list[RowStep]:
        """All steps, pass by pass: rows of the last operator in order, then those of others that nobody asked for."""
        *first, last = self._chain.passes.runs
        for ops in first:
            self._begin(ops)
            self._finish(op for op in ops if not self._held >= set(op.results))
            self._rewind()
        self._begin(last)
        self._finish(last)
        return self._steps

    def _begin(self, ops: frozenset[Op]) -> None:
        """Begin a pass over some operators: what they read is what is needed."""
        for lines in self._lines.values():
            lines.readers_now = [reader for reader in lines.readers if reader.call.op in ops]

    def _finish(self, ops: Iterable[Op]) -> None:
        """Compute all rows of some operators, those of the last one first."""
        wanted = frozenset(ops)
        for op in reversed(self._chain.ops):
            if op in wanted:
                self._compute(self._calls[op], self._calls[op].height)

    def _rewind(self) -> None:
        """Begin anew: what lies in rings is gone."""
        self._released.clear()
        for lines in self._lines.values():
            lines.is_padded = lines.padding > 0
            lines.start = 0 if lines.moving is Moving.AT_ONCE else -lines.padding
            lines.first = lines.end = 0
        for call in self._calls.values():
            if any(result.is_held for result in call.results):
                call.done = 0

    def _compute(self, call: _Call, end: int) -> None:
        """Compute rows of a call's result up to `end`."""
        if call.sum is not None:
            self._sum(call, call.sum)
            return
        op, result, operands, most = call.op, call.results[0], call.operands, self._chain.rows_per_call
        while call.done < end:
            first = call.done
            last = min(end, first + most)
            rows = self._actual(call.height, first, last)
            needed = [self._needed(op, operand, rows) for operand in operands]
            for operand, (_, end_of_operand) in zip(operands, needed, strict=True):
                if not operand.has(end_of_operand):
                    self._provide(operand, end_of_operand)
            writes = (self._append(result, first, last),)  # which may move rows of operands
            reads = call.whole_reads.copy()
            for operand, needed_rows in zip(operands, needed, strict=True):
                reads[operand.position] = self._read(operand, *needed_rows)
            call.done = last
            self._steps.append(Compute(tuple(reads), writes, op, rows, result.columns))
            if len(self._steps) > STEPS.most:
                STEPS.check(len(self._steps), f"{op.source}, run by rows")
            self._store(result, rows, writes[0])
            for operand in operands:
                self._release(operand.source)

    def _sum(self, call: _Call, sum: RunningSum) -> None:
        """Add rows of the input, as many at a time as a call takes, and finish."""
        height, (operand, *_) = sum.rows, call.operands
        sums = Access(sum.sums, 0, sum.sums.type.bytes)
        while call.done < height:
            first, last = call.done, min(height, call.done + self._chain.rows_per_call)
            self._provide(operand, last)
            reads = (operand.lines.touch(first, last),) + ((sums,) if first else ())
            call.done = last
            self._steps.append(AddRows(reads, (sums,), call.op, self._actual(operand.height, first, last)))
            self._release(operand.lines)
            if last == height:
                finished = tuple(map(self._whole, call.results))
                self._steps.append(FinishSum((sums,), finished, call.op))
                for result, touch in zip(call.results, finished, strict=True):
                    self._store(result, every_row(result.tensor), touch)

    def _store(self, lines: _Lines, rows: Rows, touch: Touch) -> None:
        """Give new rows to the application, if it takes them: several ones where the chain ascends only."""
        if lines.tensor in self._chain.stored:
            self._steps.append(StoreRows((touch,), (), lines.tensor, rows))
            self._release(lines)

    def _provide(self, operand: _Operand, end: int) -> None:
        """Make rows of an operand up to `end` available where it is read."""
        copy, lines = operand.source, operand.lines
        if copy is lines:
            self._make(operand, end)
            return
        while copy.end < end:
            row = copy.end
            self._make(operand, row + 1)
            target = self._append(copy, row, row + 1)
            source = lines.touch_columns(row, row + 1, copy.columns, descending=self._descending)
            rows, columns = self._actual(operand.height, row, row + 1), copy.columns or all_columns(copy.tensor)
            self._steps.append(CopyRows((source,), (target,), operand.tensor, rows, columns))
            self._release(lines)

    def _make(self, operand: _Operand, end: int) -> None:
        """Make rows of an operand up to `end` available where it lies."""
        for writer in operand.writers:
            self._compute(writer, writer.height)
        if operand.producer is not None:
            self._compute(operand.producer, end)
        elif operand.is_fetched:
            lines = operand.lines
            while lines.end < end:
                rows = Rows(lines.end, min(end, lines.end + self._chain.rows_per_call))
                touch = self._append(lines, rows.first, rows.end)
                self._steps.append(FetchRows((), (touch,), lines.tensor, rows, lines.columns))

    def _append(self, lines: _Lines, first: int, end: int) -> Touch:
        if lines.is_held:
            if lines in self._released:
                self._move_in_turn()
            if lines.moving is not Moving.AT_ONCE and end - lines.start > lines.room:
                self._move(lines)
            else:
                self._wait()
            lines.end = end
        if lines.columns is lines.held_columns:
            return lines.touch(first, end)
        return lines.touch_columns(first, end, lines.columns, descending=self._descending)

    def _whole(self, lines: _Lines) -> Touch:
        tensor = lines.tensor
        return self._append(lines, 0, tensor.shape[1]) if has_rows(tensor) else Access(tensor, 0, tensor.type.bytes)

    def _read(self, operand: _Operand, first: int, end: int) -> Touch:
        if operand.columns is None:
            return operand.source.touch(first, end)
        return operand.source.touch_columns(first, end, operand.columns, descending=self._descending)

    def _release(self, lines: _Lines) -> None:
        """Drop rows of a ring that nobody needs any more."""
        if not lines.is_held:
            return
        dropped = lines.end
        for reader in lines.readers_now:
            dropped = min(dropped, reader.next_row)
        if dropped <= lines.first and not lines.is_padded:
            return
        lines.first, lines.is_padded = dropped, False
        if lines in self._released:
            self._released.remove(lines)
        if dropped < lines.end:
            self._released.append(lines)
        if lines.moving is Moving.AT_ONCE or dropped == lines.end:
            self._move(lines)
        else:
            self._wait()

    def _move_in_turn(self) -> None:
        """Move the rows of rings whose turn it is, those released last first."""
        for lines in reversed(self._released):
            if lines.moving is Moving.IN_TURN:
                self._move(lines)
            else:
                self._wait()
        self._released.clear()

    def _move(self, lines: _Lines) -> None:
        """Move the rows of a ring to its start."""
        first, end = lines.first, lines.end
        if end > first > lines.start:
            source = lines.touch(first, end)
            lines.start = first
            self._steps.append(ShiftRows((source,), (lines.touch(first, end),), lines.tensor))
        else:
            lines.start = first
            self._wait()

    def _wait(self) -> None:
        if self._chain.waits:
            self._steps.append(WAIT)

    def _needed(self, op: Op, operand: _Operand, rows: Rows) -> tuple[int, int]:
        """The rows of an operand that rows of the result take, in the order in which they come."""
        found = self._demand.of(op, operand.tensor, rows)
        if not self._descending:
            return found.first, found.end
        return operand.height - found.end, operand.height - found.first

    def _actual(self, height: int, first: int, end: int) -> Rows:
        """Rows of a tensor of that height; counted from the other end, where the chain descends."""
        return Rows(height - end, height - first) if self._descending else Rows(first, end)


def _mirrored(steps: Sequence[RowStep], chain: Chain) -> list[RowStep]:
    """The steps with every buffer turned upside down."""
    rings = chain.rings | chain.copies
    ends = {tensor: end if tensor in rings else tensor.type.bytes for tensor, end in held_bytes(steps).items()}

    def turned(touches: tuple[Touch, ...]) -> tuple[Touch, ...]:
        return tuple([Touch(tensor, ends[tensor] - offset - bytes, bytes) for tensor, offset, bytes in touches])

    return [_at(step, turned(step.reads), turned(step.writes)) for step in steps]


def _at(step: RowStep, reads: tuple[Touch, ...], writes: tuple[Touch, ...]) -> RowStep:
    """The step elsewhere in memory; most of them are calls, for which `replace` is slow."""
    if isinstance(step, Compute):
        return Compute(reads, writes, step.op, step.rows, step.columns, step.channels)
    return replace(step, reads=reads, writes=writes)
