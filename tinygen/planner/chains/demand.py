"""Runs a chain of operators row by row, on demand: which rows are computed when, and where in its buffer each row lies.

The last operator asks for the rows it needs, its producers ask for theirs, and so on. A tensor inside the chain is held
in a ring: just the rows that somebody still needs, always contiguous. When rows are no longer needed the rest moves to
the start of the ring: at once, which leaves room at its end, or not before the next row needs the room, which leaves
room at its start. Room at the end of one ring and at the start of its neighbour can be the same. Averages over whole
images add up rows as they come. Nothing is computed twice, unless a scale must be known first (`passes`).

A descending chain is the mirror image: it runs from the last row to the first, and rings hold their oldest row at the
end.

A chain may also be one strip of columns: then rings are narrower, and what is kept whole is read and written in part.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from tinygen.budget import STEPS
from tinygen.ir.graph import Op
from tinygen.ir.rows import Channels, Columns, Rows, all_columns, all_rows, every_row, has_rows, pixel_bytes, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.ops.running_sum import RunningSum
from tinygen.planner.chains.passes import Passes, passes_of


class Touch(NamedTuple):
    """Bytes of a tensor's buffer that a step reads or writes."""

    tensor: Tensor
    offset: int
    bytes: int


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


class RowDemand:
    """Which rows of an operand rows of a result are computed from; each asked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Op, Tensor, int, int], Rows] = {}
        self._following: dict[tuple[Op, Tensor, bool], tuple[int, ...]] = {}

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
    late: frozenset[Tensor] = frozenset()  # rings that move their rows only when the next one needs the room
    waits: bool = False  # whether all choices of `late` give equally many steps
    writers: Mapping[tuple[Op, Tensor], tuple[Op, ...]] = field(default_factory=dict)  # of what a reader sees by a view
    demand: RowDemand = field(default_factory=RowDemand)
    strip: Strip | None = None  # whole rows where None
    stored: frozenset[Tensor] = frozenset()  # outputs of the model, computed here, which the application takes by rows

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

    `early`: the steps without rings that move their rows late, where they are known.
    """
    if chain.late and early is None:
        early = steps_on_demand(replace(chain, late=frozenset()))
    steps = _Run(chain, held_bytes(early or ())).run()
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


class _Held:
    """The rows of a ring that are needed: [first, end). Row `start` would lie at the start of its buffer."""

    def __init__(self, room: int | None) -> None:
        self.room = room  # rows that fit, where it moves them late
        self.start = 0
        self.first = 0
        self.end = 0


class _Reader(NamedTuple):
    """Who reads rows of a ring."""

    op: Op
    following: tuple[int, ...] | None  # first row that it will read, by rows that it has computed; None for averages
    by_copy: _Held | None  # where it reads rows that are copied from the ring


class _Run:
    """A chain while it runs; where it descends, rows are counted from the last one."""

    def __init__(self, chain: Chain, room: Mapping[Tensor, int]) -> None:
        self._chain = chain
        self._done = dict.fromkeys(chain.ops, 0)  # rows of the result, or of the input of an average
        self._producers = {result: op for op in chain.ops for result in op.results}
        self._run = frozenset(chain.ops)  # the operators of the pass at hand
        self._copied = chain.strip.copied if chain.strip else {}
        self._held = {tensor: _Held(None) for tensor in chain.held}
        self._sizes: dict[Tensor, int] = {}  # of rows
        for tensor in chain.late & self._held.keys():
            self._held[tensor].room = room[tensor] // self._row_bytes(tensor)
        self._readers: dict[Tensor, list[_Reader]] = {tensor: [] for tensor in self._held}
        for op in chain.ops:
            for operand in op.divided_operands:
                copy = self._source(op, operand)
                for tensor in self._readers.keys() & {operand, copy}:
                    following = None if op in chain.sums else chain.demand.following(op, operand, chain.descending)
                    by_copy = None if copy is tensor else self._held[copy]
                    self._readers[tensor].append(_Reader(op, following, by_copy))
        self._steps: list[RowStep] = []

    def run(self) -> list[RowStep]:
        """All steps, pass by pass: rows of the last operator in order, then those of others that nobody asked for."""
        *first, last = self._chain.passes.runs
        for self._run in first:
            self._finish(op for op in self._run if not self._held.keys() >= set(op.results))
            self._rewind()
        self._run = last
        self._finish(last)
        return self._steps

    def _finish(self, ops: Iterable[Op]) -> None:
        """Compute all rows of some operators, those of the last one first."""
        wanted = frozenset(ops)
        for op in reversed(self._chain.ops):
            if op in wanted:
                self._compute(op, self._height(op))

    def _height(self, op: Op) -> int:
        """Rows that an operator computes; a sum computes its result at once."""
        return 1 if op in self._chain.sums else op.results[0].shape[1]

    def _rewind(self) -> None:
        """Begin anew: what lies in rings is gone."""
        for tensor, held in self._held.items():
            held.start = held.first = held.end = 0
            if tensor in self._producers:
                self._done[self._producers[tensor]] = 0

    def _compute(self, op: Op, end: int) -> None:
        """Compute rows of `op` up to `end`."""
        if op in self._chain.sums:
            self._sum(op, self._chain.sums[op])
            return
        while self._done[op] < end:
            first = self._done[op]
            rows = Rows(first, min(end, first + self._chain.rows_per_call))
            needed = [(operand, self._needed(op, operand, rows)) for operand in op.divided_operands]
            for operand, operand_rows in needed:
                self._provide(op, operand, operand_rows.end)
            found = {operand: self._read(op, operand, operand_rows) for operand, operand_rows in needed}
            reads = tuple(found.get(t) or Touch(t, 0, t.type.bytes) for t in op.variable_operands)
            self._done[op] = rows.end
            writes = (self._append(op.results[0], rows),)
            columns = self._columns(op.results[0])
            self._steps.append(Compute(reads, writes, op, self._actual(op.results[0], rows), columns))
            STEPS.check(len(self._steps), f"{op.source}, run by rows")
            self._store(op.results[0], rows, writes[0])
            for operand, _ in needed:
                self._release(self._source(op, operand))

    def _sum(self, op: Op, sum: RunningSum) -> None:
        """Add rows of the input, as many at a time as a call takes, and finish."""
        height = sum.rows
        sums = Touch(sum.sums, 0, sum.sums.type.bytes)
        while self._done[op] < height:
            rows = Rows(self._done[op], min(height, self._done[op] + self._chain.rows_per_call))
            self._provide(op, sum.input, rows.end)
            reads = (self._touch(sum.input, rows),) + ((sums,) if rows.first else ())
            self._done[op] = rows.end
            self._steps.append(AddRows(reads, (sums,), op, self._actual(sum.input, rows)))
            self._release(sum.input)
            if rows.end == height:
                finished = tuple(map(self._whole, op.results))
                self._steps.append(FinishSum((sums,), finished, op))
                for result, touch in zip(op.results, finished, strict=True):
                    self._store(result, every_row(result), touch)

    def _store(self, tensor: Tensor, rows: Rows, touch: Touch) -> None:
        """Give new rows to the application, if it takes them: several ones where the chain ascends only."""
        if tensor in self._chain.stored:
            self._steps.append(StoreRows((touch,), (), tensor, rows))
            self._release(tensor)

    def _provide(self, reader: Op, tensor: Tensor, end: int) -> None:
        """Make rows of `tensor` up to `end` available where `reader` reads them."""
        copy = self._copied.get((reader, tensor))
        if copy is None:
            self._make(reader, tensor, end)
            return
        held = self._held[copy]
        while held.end < end:
            rows = Rows(held.end, held.end + 1)
            self._make(reader, tensor, rows.end)
            columns = self._held_columns(copy)
            target = self._append(copy, rows)
            source = self._touch(tensor, rows, columns)
            self._steps.append(CopyRows((source,), (target,), tensor, self._actual(tensor, rows), columns))
            self._release(tensor)

    def _make(self, reader: Op, tensor: Tensor, end: int) -> None:
        """Make rows of `tensor` up to `end` available."""
        for writer in self._chain.writers.get((reader, tensor), ()):
            self._compute(writer, self._height(writer))
        if tensor in self._producers:
            self._compute(self._producers[tensor], end)
        elif tensor in self._chain.fetched:
            held = self._held[tensor]
            while held.end < end:
                rows = Rows(held.end, min(end, held.end + self._chain.rows_per_call))
                self._steps.append(FetchRows((), (self._append(tensor, rows),), tensor, rows, self._columns(tensor)))

    def _append(self, tensor: Tensor, rows: Rows) -> Touch:
        if tensor in self._held:
            held = self._held[tensor]
            if held.room is None or rows.end - held.start <= held.room:
                self._wait()
            else:
                self._move(tensor, held)
            held.end = rows.end
        return self._touch(tensor, rows, self._columns(tensor))

    def _whole(self, tensor: Tensor) -> Touch:
        return self._append(tensor, all_rows(tensor)) if has_rows(tensor) else Touch(tensor, 0, tensor.type.bytes)

    def _read(self, op: Op, operand: Tensor, rows: Rows) -> Touch:
        columns = self._chain.strip.read[op, operand] if self._chain.strip else None
        return self._touch(self._source(op, operand), rows, columns)

    def _source(self, op: Op, operand: Tensor) -> Tensor:
        """Where an operator reads its operand: in a ring of copied columns, or where the operand lies."""
        return self._copied.get((op, operand), operand)

    def _touch(self, tensor: Tensor, rows: Rows, columns: Columns | None = None) -> Touch:
        size = self._sizes.get(tensor) or self._row_bytes(tensor)
        ring = self._held.get(tensor)
        start = (rows.first - ring.start if ring else rows.first) * size
        if columns is None or columns == (held := self._held_columns(tensor)):
            return Touch(tensor, start, (rows.end - rows.first) * size)
        assert rows.count == 1, "only one row of some columns is contiguous"
        skipped = held.end - columns.end if self._chain.descending else columns.first - held.first
        pixel = pixel_bytes(tensor)
        return Touch(tensor, start + skipped * pixel, columns.count * pixel)

    def _columns(self, tensor: Tensor) -> Columns | None:
        """The columns of a tensor that this strip computes, fetches or copies."""
        return self._chain.strip.held.get(tensor) if self._chain.strip else None

    def _held_columns(self, tensor: Tensor) -> Columns:
        """The columns that a row has where it lies."""
        columns = self._columns(tensor) if tensor in self._held else None
        return columns or all_columns(tensor)

    def _row_bytes(self, tensor: Tensor) -> int:
        """Bytes of a row where it lies."""
        columns = self._columns(tensor) if tensor in self._held else None
        size = self._sizes[tensor] = pixel_bytes(tensor) * columns.count if columns else row_bytes(tensor)
        return size

    def _release(self, tensor: Tensor) -> None:
        """Drop rows of a ring that nobody needs any more."""
        held = self._held.get(tensor)
        if held is None:
            return
        readers = (reader for reader in self._readers[tensor] if reader.op in self._run)
        dropped = min([held.end, *map(self._next_row, readers)])
        if dropped <= held.first:
            return
        held.first = dropped
        if held.room is None or dropped == held.end:
            self._move(tensor, held)
        else:
            self._wait()

    def _move(self, tensor: Tensor, held: _Held) -> None:
        """Move the rows of a ring to its start."""
        kept = Rows(held.first, held.end)
        source = self._touch(tensor, kept)
        held.start = held.first
        if kept.count:
            self._steps.append(ShiftRows((source,), (self._touch(tensor, kept),), tensor))
        else:
            self._wait()

    def _wait(self) -> None:
        if self._chain.waits:
            self._steps.append(Wait((), ()))

    def _next_row(self, reader: _Reader) -> int:
        """First row of a ring that a reader will still read."""
        done = self._done[reader.op]
        if reader.following is None:
            sum = self._chain.sums[reader.op]
            return done if done < sum.rows else sum.input.shape[1]
        if reader.by_copy is None or done + 1 >= len(reader.following):
            return reader.following[done]
        return reader.by_copy.end

    def _needed(self, op: Op, operand: Tensor, rows: Rows) -> Rows:
        return self._actual(operand, self._chain.demand.of(op, operand, self._actual(op.results[0], rows)))

    def _actual(self, tensor: Tensor, rows: Rows) -> Rows:
        """Rows counted from the other end, where the chain descends."""
        if not self._chain.descending:
            return rows
        height = tensor.shape[1]
        return Rows(height - rows.end, height - rows.first)


def _mirrored(steps: Sequence[RowStep], chain: Chain) -> list[RowStep]:
    """The steps with every buffer turned upside down."""
    sizes = held_bytes(steps)

    def turned(touch: Touch) -> Touch:
        is_ring = touch.tensor in chain.rings | chain.copies
        size = sizes[touch.tensor] if is_ring else touch.tensor.type.bytes
        return Touch(touch.tensor, size - touch.offset - touch.bytes, touch.bytes)

    return [
        replace(step, reads=tuple(turned(t) for t in step.reads), writes=tuple(turned(t) for t in step.writes))
        for step in steps
    ]
