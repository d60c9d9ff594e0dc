"""Whether a schedule is right, found without the solver: its buffers as rectangles, and its steps run on marked bytes.

Every byte that a call writes gets a number of its own. A view's bytes have the numbers of what it views. Whoever reads
a tensor must find exactly its numbers at its place.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import gcd

import numpy as np
import numpy.typing as npt

from tinygen.budget import STEPS
from tinygen.errors import VerifyError
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Columns, Piece, Rows, every_row, has_rows, pixel_bytes, row_bytes
from tinygen.ir.stream import Ring, State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.diagonal import Diagonal
from tinygen.planner.schedule.schedule import AtPort, Buffer, Call, Crop, Fetch, FlatStep, Schedule, Shift, Store

_Marks = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_NEVER_WRITTEN = -1
_MARKS_OF_32_BITS = 1 << 31
_NOT_COVERED = -2  # a byte of a whole that none of its parts covers: equal to no byte of the arena


def check(schedule: Schedule, limit_bytes: int | None = None) -> None:
    """Raise VerifyError, naming buffers or steps, unless the schedule can be executed within `limit_bytes`.

    BudgetError where it has too many steps.
    """
    STEPS.check(len(schedule.flat_steps), schedule.graph.name)
    try:
        _check_size(schedule, limit_bytes)
        for buffer in schedule.buffers:
            _check_offset(schedule, buffer)
        if not schedule.is_interleaved:  # otherwise running them on marks tells whether they may overlap
            for first, second in _live_together(schedule.buffers):
                _check_apart(schedule, first, second)
        in_pieces = {part.whole for part in schedule.pieces.values()} - schedule.places.keys()
        in_pieces |= set(_planes_of_application(schedule))
        known = frozenset(schedule.buffers)
        for tensor in (*schedule.graph.tensors, *schedule.pieces):
            if tensor not in in_pieces:
                _check_place(schedule, tensor, known)
        _check_lifetimes(schedule)
        for call in schedule.calls:
            _check_parts(call)
            _check_ring(call)
        _Execution(schedule).run()
    except ValueError as error:
        raise VerifyError(
            f"{schedule.graph.name}, after planning: {error}. This is a defect in tinygen: please report it."
        ) from error


def _check_size(schedule: Schedule, limit_bytes: int | None) -> None:
    if limit_bytes is not None and schedule.arena_bytes > limit_bytes:
        raise ValueError(f"the arena has {schedule.arena_bytes} bytes, at most {limit_bytes} were allowed")


def _check_offset(schedule: Schedule, buffer: Buffer) -> None:
    if buffer not in schedule.offsets:
        raise ValueError(f"buffer '{buffer.name}' has no offset")
    offset = schedule.offsets[buffer]
    if offset < 0 or offset % buffer.align:
        raise ValueError(f"buffer '{buffer.name}' lies at {offset}, a multiple of {buffer.align} was expected")
    if schedule.memory(buffer) not in schedule.board.rams:
        raise ValueError(
            f"buffer '{buffer.name}' lies in memory '{schedule.memory(buffer).name}', which {schedule.board.name} "
            "does not have"
        )


def _live_together(buffers: Sequence[Buffer]) -> Iterator[tuple[Buffer, Buffer]]:
    """Pairs of buffers that are live at one step."""
    live: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda buffer: buffer.first_step):
        live = [other for other in live if other.last_step >= buffer.first_step]
        yield from ((other, buffer) for other in live)
        live.append(buffer)


def _check_apart(schedule: Schedule, first: Buffer, second: Buffer) -> None:
    start = max(first.first_step, second.first_step)
    begin = max(schedule.offsets[first], schedule.offsets[second])
    end = min(schedule.offsets[first] + first.bytes, schedule.offsets[second] + second.bytes)
    if begin >= end or schedule.memory(first) != schedule.memory(second):
        return
    if not _takes_over(schedule, first, second, start):
        raise ValueError(
            f"buffers '{first.name}' and '{second.name}' share bytes {begin} to {end - 1} and are both live at "
            f"step {start}"
        )


def _takes_over(schedule: Schedule, first: Buffer, second: Buffer, step: int) -> bool:
    """Whether one buffer ends at a step whose call may write its result over it; running it tells whether it does."""
    call = schedule.flat_steps[step]
    if step != min(first.last_step, second.last_step) or not isinstance(call, Call):
        return False
    results = {schedule.places[tensor].buffer for tensor in call.kernel.writes}
    operands = {schedule.places[tensor].buffer for tensor in call.kernel.gives_way}
    return (first in operands and second in results) or (second in operands and first in results)


def _check_place(schedule: Schedule, tensor: Tensor, known: Collection[Buffer]) -> None:
    if tensor.is_constant:
        return
    if tensor not in schedule.places:
        raise ValueError(f"tensor '{tensor.name}' has no place")
    place = schedule.places[tensor]
    if place.buffer not in known:
        raise ValueError(f"tensor '{tensor.name}' lies in buffer '{place.buffer.name}', which is not in the schedule")
    if place.offset < 0 or place.offset + tensor.type.bytes > place.buffer.bytes:
        raise ValueError(
            f"tensor '{tensor.name}' takes bytes {place.offset} to {place.offset + tensor.type.bytes - 1} of buffer "
            f"'{place.buffer.name}', which has {place.buffer.bytes}"
        )
    if schedule.address(tensor) % tensor.type.dtype.bytes:
        raise ValueError(
            f"tensor '{tensor.name}' lies at {schedule.address(tensor)}, "
            f"a multiple of {tensor.type.dtype.bytes} was expected"
        )


def _planes_of_application(schedule: Schedule) -> Iterator[Tensor]:
    """Inputs and outputs of which the arena never holds more than a row of a plane."""
    graph = schedule.graph
    for step in schedule.flat_steps:
        match step:
            case Fetch(at_port=AtPort()):
                yield graph.input_tensors[step.port]
            case Store(at_port=AtPort()):
                yield graph.output_tensors[step.port]


def _check_parts(call: Call) -> None:
    """Tables that are parts of others hold what stands there."""
    for table in (table for table in call.kernel.tables if table.whole):
        stored = table.stored.values[table.first : table.first + table.elements]
        if not np.array_equal(stored, table.values.reshape(-1)):
            raise ValueError(f"call of '{call.op.name}': part {table.part} of table '{table.name}' holds other values")


def _check_ring(call: Call) -> None:
    """Rows that a ring keeps stay where they lie, and are the last ones in order, from every place on."""
    ring = call.op.pushed
    if ring is None:
        return
    rows, count = ring.kept.shape[1], ring.new.shape[1]
    kept = np.arange(rows).reshape(1, rows, 1, 1)
    new = rows + np.arange(count).reshape(1, count, 1, 1)
    for first in range(0, rows, gcd(rows, count)):
        place = np.array([first], np.int32)
        values: dict[Tensor, Array] = {ring.kept: kept, ring.place: place, ring.new: new}
        after, next_place = call.op.evaluate(Values(values.__getitem__))
        oldest = (first + np.arange(count)) % rows
        moved = np.setdiff1d(np.flatnonzero(after != kept), oldest)
        if moved.size:
            raise ValueError(f"call of '{call.op.name}': row {moved[0]} of '{ring.kept.name}' moves, it is kept")
        in_order = Ring.in_order(kept, place, new)[:, count:]
        if not 0 <= next_place[0] < rows or not np.array_equal(Ring.in_order(after, next_place, new[:, :0]), in_order):
            raise ValueError(f"call of '{call.op.name}': leaves other rows in '{ring.kept.name}' than the last {rows}")


def _check_lifetimes(schedule: Schedule) -> None:
    """Whatever is touched lies in a buffer that is live then."""
    places, last = schedule.places, max(len(schedule.flat_steps) - 1, 0)
    states = [places[state.tensor].buffer for state in schedule.graph.states]
    touched = [(0, places[t].buffer) for t in schedule.graph.input_tensors if t not in schedule.fetched]
    touched += [(last, places[t].buffer) for t in _resident_outputs(schedule)]
    touched += [(when, buffer) for when in (0, last) for buffer in states]
    for index, step in enumerate(schedule.flat_steps):
        touched += [(index, buffer) for buffer in schedule.touched(step)]
    for when, buffer in touched:
        if not buffer.first_step <= when <= buffer.last_step:
            raise ValueError(
                f"buffer '{buffer.name}' is used in step {when}, it is live from {buffer.first_step} "
                f"to {buffer.last_step}"
            )


def _resident_outputs(schedule: Schedule) -> list[Tensor]:
    """What the application finds after the last step."""
    return [tensor for tensor in _variables(schedule.graph.output_tensors) if tensor not in schedule.stored]


def _variables(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in tensors if not tensor.is_constant)


@dataclass(frozen=True)
class _Range:
    """Bytes of all arenas, one behind the other, and what lies there."""

    label: str
    start: int
    end: int

    def overlaps(self, other: "_Range") -> bool:
        return max(self.start, other.start) < min(self.end, other.end)


class _Execution:
    """The steps, run on marks instead of values."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._dtype = np.dtype(np.int32 if _most_marks(schedule) < _MARKS_OF_32_BITS else np.int64)
        self._arena: _Marks = np.full(schedule.arena_bytes, _NEVER_WRITTEN, self._dtype)  # all, one behind the other
        starts = accumulate((arena.bytes for arena in schedule.arenas), initial=0)
        self._starts = dict(zip((arena.memory for arena in schedule.arenas), starts, strict=False))
        self._expected: dict[Tensor, _Marks] = {}  # of what will still be read
        self._missing: dict[Tensor, int] = {}  # bytes that were never written, of tensors that are written in pieces
        self._writers: list[tuple[int, str]] = [(0, "nothing")]  # first mark, and what was written with it
        self._next_mark = 0
        self._stored: dict[int, int] = {}  # rows of outputs that the application has taken,
        self._rows_of: dict[int, Tensor] = {}  # and the outputs, or their pixels, that have these rows
        called = {call.whole for call in schedule.calls}
        views = (op for op in schedule.graph.ops if op not in called | schedule.at_ports)
        self._views = {op: set(op.variable_operands) for op in views}  # not defined yet: what they wait for
        self._viewed: dict[Tensor, list[Op]] = {}
        for op in self._views:
            for tensor in op.variable_operands:
                self._viewed.setdefault(tensor, []).append(op)
        self._last_reads = self._find_last_reads()

    def _find_last_reads(self) -> dict[Tensor, int]:
        """The step after which nobody asks for a tensor's marks; those of views are their own."""
        found: dict[Tensor, int] = {}
        for index, step in enumerate(self._schedule.flat_steps):
            for tensor in _read_by(step):
                part = self._schedule.pieces.get(tensor)
                found[tensor if part is None else part.whole] = index
        kept = (*_resident_outputs(self._schedule), *(state.window for state in self._schedule.graph.states))
        return found | dict.fromkeys(kept, len(self._schedule.flat_steps))

    def run(self) -> None:
        """Raise ValueError at the first step that goes wrong."""
        for op in self._views:
            if not op.aliases():
                raise ValueError(f"operator '{op.name}' is neither called nor a view of other tensors")
        for tensor in self._schedule.graph.input_tensors:
            if tensor not in self._schedule.fetched:
                self._write(tensor, "the model's inputs are written")
        for state in self._schedule.graph.states:
            self._write(state.tensor, "the last call ends")
        for op in tuple(op for op, awaited in self._views.items() if not awaited):  # of constants alone
            self._define(op)
            self._complete(*op.results)
        ending = self._ending()
        for index, step in enumerate(self._schedule.flat_steps):
            where = f"step {index}"
            match step:
                case Call():
                    self._call(step, f"{where} ({step.whole.name})")
                case Shift():
                    self._shift(step)
                case Fetch():
                    self._fetch(step, where)
                case Store():
                    self._store(step, where)
                case Crop():
                    self._crop(step, where)
            for tensor in ending.get(index, ()):
                self._forget(tensor, index)
        for tensor in _resident_outputs(self._schedule):
            self._read(tensor, "after the last step, the application")
        self._check_stored()
        for state in self._schedule.graph.states:
            self._check_state(state)
        if self._views:
            raise ValueError(f"operator '{next(iter(self._views)).name}' is a view of bytes that are never written")

    def _ending(self) -> dict[int, list[Tensor]]:
        """By step, the tensors whose marks are not asked for afterwards."""
        found: dict[int, list[Tensor]] = {}
        for tensor, index in self._last_reads.items():
            found.setdefault(index, []).append(tensor)
        return found

    def _forget(self, tensor: Tensor, index: int) -> None:
        """Drop the marks of a tensor, unless somebody or a view that is not defined yet asks for them later."""
        is_viewed = any(op in self._views for op in self._viewed.get(tensor, ()))
        if self._last_reads.get(tensor, index) <= index and not is_viewed:
            self._expected.pop(tensor, None)

    def _check_state(self, state: State) -> None:
        """After the last step, the last rows of the window are where the next call looks for its state."""
        span = self._range(state.tensor)
        wanted = self._expected[state.window][state.source_bytes :]
        if not np.array_equal(self._arena[span.start : span.end], wanted):
            raise ValueError(f"after the last step, '{state.tensor.name}' does not hold the last of its window")

    def _shift(self, shift: Shift) -> None:
        start = self._start(shift.buffer)
        source, target = start + shift.source, start + shift.target
        self._arena[target : target + shift.bytes] = self._arena[source : source + shift.bytes].copy()

    def _fetch(self, fetch: Fetch, where: str) -> None:
        """The application gives rows of the input, or of its planes."""
        planes, part = self._schedule.graph.input_tensors[fetch.port], fetch.piece
        if fetch.at_port is None:
            is_right = part.whole is planes
        else:
            op = fetch.at_port.op
            is_right = op.makes_pixels and op.variable_operands == (planes,) and op.results == (part.whole,)
        if not is_right:
            raise ValueError(f"{where}: fetches '{part.tensor.name}', input {fetch.port} is '{planes.name}'")
        self._pass_planes(fetch, where)
        self._write(part.tensor, f"{where} fetches rows")

    def _pass_planes(self, step: Fetch | Store, where: str) -> None:
        """Rows of several planes pass through a line that nobody uses for something else."""
        part = step.piece
        if step.at_port is None or part.whole.shape[3] == 1:
            return
        line = step.at_port.line
        needed = part.tensor.type.bytes // part.rows.count // part.whole.shape[3]
        if line is None or line.bytes < needed:
            raise ValueError(f"{where}: has no room for a row of a plane, {needed} bytes were expected")
        span = self._range_of_scratch(line)
        if span.overlaps(self._range(part.tensor)):
            raise ValueError(f"{where}: rows of planes pass through the bytes of '{part.tensor.name}'")
        self._spoil(span, f"rows of planes when {where}")

    def _store(self, store: Store, where: str) -> None:
        """The application takes finished rows, each one once, in order."""
        output, part = self._schedule.graph.output_tensors[store.port], store.piece
        if store.at_port is not None:
            op = store.at_port.op
            if op.makes_planes and op.results == (output,):
                (output,) = op.variable_operands
        first = self._stored.get(store.port, 0)
        if part.whole is not output or part.columns or part.rows.first != first:
            raise ValueError(
                f"{where}: stores '{part.tensor.name}' as output {store.port}, '{output.name}' from row {first} on was "
                "expected"
            )
        self._read(part.tensor, f"{where} (storing rows)")
        self._pass_planes(store, where)
        self._stored[store.port], self._rows_of[store.port] = part.rows.end, output

    def _check_stored(self) -> None:
        """After the last step, outputs that are stored were stored to their last row."""
        for port, end in self._stored.items():
            output = self._rows_of[port]
            if end != every_row(output).end:
                raise ValueError(f"output {port} has {every_row(output).end} rows, {end} of them are stored")

    def _crop(self, crop: Crop, where: str) -> None:
        self._read(crop.source.tensor, f"{where} (copy of columns)")
        source, target = self._range(crop.source.tensor), self._range(crop.target.tensor)
        if source.overlaps(target):
            raise ValueError(f"{where}: copies '{crop.source.tensor.name}' over itself")
        self._arena[target.start : target.end] = self._arena[source.start : source.end]

    def _call(self, call: Call, where: str) -> None:
        kernel = call.kernel
        _check_operands(call, where)
        for tensor in _variables((*kernel.reads, *kernel.updates)):
            self._read(tensor, where)
        for tensor, result in zip(kernel.updates, kernel.writes, strict=False):
            if self._range(tensor).start != self._range(result).start:
                raise ValueError(f"{where}: updates '{tensor.name}', which does not lie where its result lies")
        self._check_hazards(call, where)
        if call.scratch is not None:
            self._spoil(self._range_of_scratch(call.scratch), f"scratch of {where}")
        for tensor in kernel.writes:
            self._write(tensor, where)

    def _check_hazards(self, call: Call, where: str) -> None:
        """Results and scratch touch nothing else of this call, but for results in place."""
        kernel = call.kernel
        reads = dict.fromkeys(_variables(kernel.reads))
        scratch = [self._range_of_scratch(call.scratch)] if call.scratch else []
        written = [(self._range(t), t) for t in kernel.writes]
        for first, second in combinations([*(r for r, _ in written), *scratch], 2):
            if first.overlaps(second):
                raise ValueError(f"{where}: writes '{first.label}' and '{second.label}' to the same bytes")
        for operand in reads:
            source = self._range(operand)
            for used in scratch:
                if used.overlaps(source):
                    raise ValueError(f"{where}: has its scratch in the bytes of its operand '{operand.name}'")
            for target, result in written:
                same = (source.start, source.end) == (target.start, target.end)
                if not target.overlaps(source) or (operand in kernel.in_place and same):
                    continue
                if operand is not kernel.reads[0] or not self._is_read_first(call, source, target):
                    raise ValueError(f"{where}: writes '{result.name}' over its operand '{operand.name}'")

    @staticmethod
    def _is_read_first(call: Call, source: _Range, target: _Range) -> bool:
        """Whether a kernel that writes element after element has read each byte for the last time before it writes
        there."""
        diagonal, operand, result = call.kernel.diagonal, call.kernel.reads[0], call.kernel.writes[0]
        if diagonal is None or not (has_rows(operand) and has_rows(result)):
            return False
        _, height, width, channels = result.shape
        rows = _last_readers([call.op.rows_needed(operand, Rows(y, y + 1)) for y in range(height)], operand.shape[1])
        columns = [call.op.columns_needed(operand, Columns(x, x + 1)) for x in range(width)]
        pixels = rows[:, np.newaxis] * width + _last_readers(columns, operand.shape[2])
        reader = (
            np.arange(operand.shape[3]) if diagonal is Diagonal.CHANNELS else np.full(operand.shape[3], channels - 1)
        )
        last = (pixels[:, :, np.newaxis] * channels + reader).reshape(-1).repeat(operand.type.dtype.bytes)
        begin, end = max(source.start, target.start), min(source.end, target.end)
        written = (np.arange(begin, end) - target.start) // result.type.dtype.bytes
        return bool((last[begin - source.start : end - source.start] <= written).all())

    def _read(self, tensor: Tensor, where: str) -> None:
        if not tensor.type.bytes:  # rows of padding alone take no rows
            return
        marks = self._marks_of(tensor)
        if marks is None or (marks == _NEVER_WRITTEN).any():
            raise ValueError(f"{where}: reads '{tensor.name}' before it is written")
        span = self._range(tensor)
        wrong = np.flatnonzero(self._arena[span.start : span.end] != marks)
        if wrong.size:
            byte = int(wrong[0])
            holds = self._writer(int(self._arena[span.start + byte]))
            raise ValueError(f"{where}: reads '{tensor.name}', but byte {byte} of it was overwritten by {holds}")

    def _write(self, tensor: Tensor, where: str) -> None:
        marks = self._mark(self._range(tensor), f"'{tensor.name}' when {where}")
        part = self._schedule.pieces.get(tensor)
        if part is None:
            self._expected[tensor] = marks
            self._missing.pop(tensor, None)
            self._complete(tensor)
        else:
            self._write_piece(part, marks)

    def _write_piece(self, part: Piece, marks: _Marks) -> None:
        if part.whole not in self._expected:
            self._expected[part.whole] = np.full(part.whole.type.bytes, _NEVER_WRITTEN, self._dtype)
            self._missing[part.whole] = part.whole.type.bytes
        inside = _marks_in(self._expected[part.whole], part)
        was_missing = self._missing.get(part.whole, 0)  # strips may write all of a tensor first, and parts of it again
        self._missing[part.whole] = was_missing - int(np.count_nonzero(inside == _NEVER_WRITTEN))
        inside[:] = marks.reshape(inside.shape)
        if was_missing and not self._missing[part.whole]:
            self._complete(part.whole)

    def _marks_of(self, tensor: Tensor) -> _Marks | None:
        """The marks that a tensor, or the rows of one, must have."""
        part = self._schedule.pieces.get(tensor)
        if part is None:
            return self._expected.get(tensor)
        whole = self._expected.get(part.whole)
        return None if whole is None else _marks_in(whole, part).reshape(-1)

    def _mark(self, span: _Range, writer: str) -> _Marks:
        marks: _Marks = np.arange(self._next_mark, self._next_mark + span.end - span.start, dtype=self._dtype)
        self._writers.append((self._next_mark, writer))
        self._next_mark += span.end - span.start
        self._arena[span.start : span.end] = marks
        return marks

    def _spoil(self, span: _Range, writer: str) -> None:
        """Bytes that nobody may read: one mark for all of them."""
        self._writers.append((self._next_mark, writer))
        self._arena[span.start : span.end] = self._next_mark
        self._next_mark += 1

    def _writer(self, mark: int) -> str:
        return next((writer for first, writer in reversed(self._writers) if first <= mark), "nothing")

    def _complete(self, *tensors: Tensor) -> None:
        """All of some tensors is there: so are views whose other operands are, and views of these."""
        pending = list(tensors)
        while pending:
            operand = pending.pop()
            for op in (op for op in self._viewed.get(operand, ()) if op in self._views):
                self._views[op].discard(operand)
                if not self._views[op]:
                    self._define(op)
                    pending += op.results

    def _define(self, op: Op) -> None:
        """Give the results of a view their marks: all operands have theirs."""
        del self._views[op]
        self._expected.update(self._view(op))

    def _view(self, op: Op) -> Iterator[tuple[Tensor, _Marks]]:
        aliases = op.aliases()
        for result in op.results:
            marks = np.full(result.type.bytes, _NOT_COVERED, self._dtype)
            for alias in aliases:
                size = alias.part.type.bytes
                if alias.part is result:
                    marks[:] = self._expected[alias.whole][alias.offset_bytes : alias.offset_bytes + size]
                elif alias.whole is result:
                    marks[alias.offset_bytes : alias.offset_bytes + size] = self._expected[alias.part]
            yield result, marks

    def _range(self, tensor: Tensor) -> _Range:
        place = self._schedule.places[tensor]
        start = self._start(place.buffer) + place.offset
        return _Range(tensor.name, start, start + tensor.type.bytes)

    def _range_of_scratch(self, buffer: Buffer) -> _Range:
        start = self._start(buffer)
        return _Range(buffer.name, start, start + buffer.bytes)

    def _start(self, buffer: Buffer) -> int:
        return self._starts[self._schedule.memory(buffer)] + self._schedule.offsets[buffer]


def _last_readers(windows: Sequence[Rows | Columns | None], count: int) -> npt.NDArray[np.int64]:
    """For each of so many rows or columns the last window that has it; long before all where none has."""
    found = np.full(count, -(1 << 40), np.int64)
    for index, window in enumerate(windows):
        if window is not None:
            found[window.first : window.end] = index
    return found


def _most_marks(schedule: Schedule) -> int:
    """At least as many as bytes are written."""
    ports = (*schedule.graph.input_tensors, *(state.tensor for state in schedule.graph.states))
    written = sum(tensor.type.bytes for tensor in ports)
    for step in schedule.flat_steps:
        match step:
            case Call():
                written += 1 + sum(tensor.type.bytes for tensor in step.kernel.writes)
            case Fetch() | Store():
                written += 1 + step.piece.tensor.type.bytes
    return written


def _read_by(step: FlatStep) -> tuple[Tensor, ...]:
    """The tensors whose marks a step asks for."""
    match step:
        case Call():
            return (*step.kernel.reads, *step.kernel.updates)
        case Store():
            return (step.piece.tensor,)
        case Crop():
            return (step.source.tensor,)
    return ()


def _marks_in(whole: _Marks, part: Piece) -> _Marks:
    """The marks of a piece in those of its whole tensor, one row a line; of channels, one pixel."""
    if part.channels:
        pixels = whole.reshape(part.whole.type.elements // part.whole.shape[-1], -1, part.whole.type.dtype.bytes)
        return pixels[:, part.channels.first : part.channels.end]
    rows = whole.reshape(-1, row_bytes(part.whole))[part.rows.first : part.rows.end]
    if part.columns is None:
        return rows
    size = pixel_bytes(part.whole)
    return rows[:, part.columns.first * size : part.columns.end * size]


def _check_operands(call: Call, where: str) -> None:
    kernel = call.kernel
    if set(_variables((*kernel.reads, *kernel.updates))) != set(call.op.variable_operands) or set(kernel.writes) != set(
        call.op.results
    ):
        raise ValueError(f"{where}: its kernel does not read and write the tensors of its operator")
    size = call.scratch.bytes if call.scratch else 0
    align = call.scratch.align if call.scratch else kernel.scratch_align
    if size < kernel.scratch_bytes or align % kernel.scratch_align:
        raise ValueError(
            f"{where}: has {size} bytes of scratch aligned to {align}, {kernel.scratch_bytes} aligned to "
            f"{kernel.scratch_align} were expected"
        )
