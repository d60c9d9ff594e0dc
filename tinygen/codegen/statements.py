"""Steps of a fused chain as C statements: calls, moves of ring rows, rows from and to the application, loops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from tinygen.codegen.arenas import touched_arenas
from tinygen.codegen.c_text import c_type, inline_comment
from tinygen.codegen.places import Places
from tinygen.codegen.ports import which_fetched
from tinygen.codegen.strips import Members, MemberText, Use, members_of
from tinygen.ir.planes import Planes
from tinygen.ir.rows import Columns, Piece, all_columns, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table
from tinygen.planner.schedule.schedule import (
    Buffer,
    Call,
    Crop,
    Fetch,
    FlatStep,
    Fused,
    Loop,
    Schedule,
    Shift,
    Store,
    Strips,
    unrolled,
)

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class CallText:
    """A call of a kernel's runner."""

    kind: ClassVar[str] = "call"

    status: str  # where it fails: the operator's enumerator
    can_fail: bool
    runner: str
    layer: str  # C expression for its address
    arguments: str
    results: tuple["ResultText", ...]


@dataclass(frozen=True)
class ResultText:
    """Bytes that a call has written."""

    pointer: str
    bytes: str


@dataclass(frozen=True)
class ShiftText:
    """A move of rows inside their ring."""

    kind: ClassVar[str] = "shift"
    can_fail: ClassVar[bool] = False

    function: str
    target: str
    source: str
    bytes: str
    content: str


@dataclass(frozen=True)
class FetchText:
    """Rows that the application writes."""

    kind: ClassVar[str] = "fetch"
    can_fail: ClassVar[bool] = True

    function: str  # without the model's name
    arguments: str  # behind `user`


@dataclass(frozen=True)
class StoreText:
    """Rows that the application takes."""

    kind: ClassVar[str] = "store"
    can_fail: ClassVar[bool] = True

    arguments: str  # behind `user`


@dataclass(frozen=True)
class PlanesText:
    """Pixels whose planes the application gives or takes row by row, by a function of the model's own."""

    can_fail: ClassVar[bool] = True

    kind: str  # "fetch planes" or "store planes"
    function: str
    arguments: str  # behind `user`


@dataclass(frozen=True)
class CropText:
    """Columns of a row that are copied into a ring."""

    kind: ClassVar[str] = "crop"
    can_fail: ClassVar[bool] = False

    target: str
    source: str
    bytes: str
    content: str


@dataclass(frozen=True)
class LoopText:
    """A loop over `i`."""

    kind: ClassVar[str] = "loop"

    count: int
    body: tuple["Statement", ...]

    @property
    def can_fail(self) -> bool:
        """Whether something in it can."""
        return any(statement.can_fail for statement in self.body)


@dataclass(frozen=True)
class StripsText:
    """A loop over strips, each of them a call of one function with a pointer to what differs from strip to strip."""

    kind: ClassVar[str] = "strips"

    symbol: str
    count: int
    members: tuple[MemberText, ...]
    statements: tuple["Statement", ...]
    arenas: Sequence[str]  # that these use

    @property
    def can_fail(self) -> bool:
        """Whether something in a strip can."""
        return any(statement.can_fail for statement in self.statements)

    @property
    def initializers(self) -> list[list[tuple[str, str]]]:
        """The members of each strip with their values."""
        return [[(member.name, member.values[strip]) for member in self.members] for strip in range(self.count)]


Statement = CallText | ShiftText | FetchText | StoreText | PlanesText | CropText | LoopText | StripsText


@dataclass(frozen=True)
class Callee:
    """What stands before the values in a call."""

    status: str  # where it fails: the operator's enumerator
    can_fail: bool
    runner: str
    layer: str  # symbol
    layer_type: str
    takes_part: bool  # which part of the layer is the next argument


@dataclass(frozen=True)
class Writer:
    """Writes the steps of one schedule.

    A step in a loop is given by its first two iterations; one in strips by all strips, iteration by iteration.
    """

    schedule: Schedule
    callee: Callable[[Call], Callee]
    symbol: Callable[[Table], str]
    content: Callable[[Buffer], str]
    places: Places
    planes: Mapping[Tensor, Planes] = field(default_factory=dict)  # inputs and outputs that have planes
    strips: int = 1
    members: Members = field(default_factory=lambda: Members({}, str))

    def fused(self, fused: Fused, symbol: str) -> tuple[Statement, ...]:
        """The statements of a chain, whose function is called `symbol`."""
        found: list[Statement] = []
        for step in fused.steps:
            if isinstance(step, Strips):
                number = sum(isinstance(statement, StripsText) for statement in found)
                found.append(self._strips(step, f"{symbol}_strip{f'_{number}' if number else ''}"))
            else:
                found.append(self._step(step))
        return tuple(found)

    def call(self, *calls: Call) -> CallText:
        """A call."""
        call, callees = calls[0], [self.callee(call) for call in calls]
        kernel = call.kernel
        reads = [self._operand(position, *calls) for position in range(len(kernel.reads))]
        arguments = [f"(const void *const[]){{{', '.join(reads)}}}"] if kernel.reads_as_array else reads
        if callees[0].takes_part:
            parts = (next(table.part for table in call.kernel.tables if table.whole) for call in calls)
            arguments = [self._number("part", *parts), *arguments]
        written = list(zip(*(call.kernel.writes for call in calls), strict=True))
        results = [self._tensor(*tensors) for tensors in written]
        arguments += [f"(void *const[]){{{', '.join(results)}}}"] if kernel.writes_as_array else results
        if kernel.takes_scratch:
            arguments.append(self._within(call.scratch, *[0] * len(calls)) if call.scratch else "NULL")
        bytes = tuple(self._result(*tensors) for tensors in written)
        layer = self._pointer(callees[0].layer_type, callees[0].layer, *(f"&{callee.layer}" for callee in callees))
        callee = callees[0]
        return CallText(callee.status, callee.can_fail, callee.runner, layer, ", ".join(arguments), bytes)

    def shift(self, *shifts: Shift) -> ShiftText:
        """A move inside a buffer."""
        buffer = shifts[0].buffer
        target = self._within(buffer, *(shift.target for shift in shifts))
        source = self._within(buffer, *(shift.source for shift in shifts))
        bytes = self._bytes("size_t", buffer, *(shift.bytes for shift in shifts))
        function = "tg_move_up" if shifts[0].moves_up else "memmove"
        return ShiftText(function, target, source, bytes, inline_comment(self.content(buffer)))

    def _strips(self, strips: Strips, symbol: str) -> StripsText:
        members = members_of(self.schedule, strips, self.content)
        writer = replace(self, strips=len(strips.iterations), members=members)
        statements = tuple(writer._step(*steps) for steps in zip(*strips.iterations, strict=True))
        arenas = touched_arenas(self.schedule, unrolled(strips))
        return StripsText(symbol, len(strips.iterations), members.members, statements, arenas)

    def _step(self, *steps: FlatStep | Loop) -> Statement:
        match steps[0]:
            case Loop():
                return self._loop(*_of(Loop, steps))
            case Call():
                return self.call(*_of(Call, steps))
            case Shift():
                return self.shift(*_of(Shift, steps))
            case Fetch():
                return self._fetch(*_of(Fetch, steps))
            case Store():
                return self._store(*_of(Store, steps))
            case Crop():
                return self._crop(*_of(Crop, steps))

    def _loop(self, *loops: Loop) -> LoopText:
        bodies = [loop.iterations[count] for count in (0, 1) for loop in loops]
        return LoopText(len(loops[0].iterations), tuple(self._step(*steps) for steps in zip(*bodies, strict=True)))

    def _crop(self, *crops: Crop) -> CropText:
        buffer = self.schedule.places[crops[0].target.tensor].buffer
        target = self._address(*(crop.target.tensor for crop in crops))
        source = self._address(*(crop.source.tensor for crop in crops))
        bytes = self._bytes("size_t", buffer, *(crop.target.tensor.type.bytes for crop in crops))
        return CropText(target, source, bytes, inline_comment(self.content(buffer)))

    def _fetch(self, *fetches: Fetch) -> FetchText | PlanesText:
        pieces = [fetch.piece for fetch in fetches]
        *rows, values = self._rows(*pieces)
        arguments = [*rows, *(self._across(*pieces) if self.schedule.rereads_input else ()), values]
        which = which_fetched(fetches[0].port, len(self.schedule.fetched) == 1)
        if line := self._line(fetches[0]):
            return PlanesText("fetch planes", f"fetch_pixels{which}", ", ".join([*arguments, line]))
        rows_of = "fetch_patch" if self.schedule.rereads_input else "fetch_rows"
        return FetchText(f"{rows_of}{which}", ", ".join(arguments))

    def _store(self, *stores: Store) -> StoreText | PlanesText:
        arguments = self._rows(*(store.piece for store in stores))
        if line := self._line(stores[0]):
            return PlanesText("store planes", "store_pixels", ", ".join([*arguments, line]))
        return StoreText(", ".join(arguments))

    def _line(self, step: Fetch | Store) -> str | None:
        """Where rows of planes pass; None where rows come or go as they are."""
        at_port = step.at_port
        return self.places.of_buffer(at_port.line) if at_port and at_port.line else None

    def _across(self, *pieces: Piece) -> list[str]:
        """First column, and number of columns."""
        across = [self._columns(piece) for piece in pieces]
        buffer = self.schedule.places[pieces[0].tensor].buffer
        first = self._number(self.members.name(buffer, "first_column"), *(columns.first for columns in across))
        count = self._number(self.members.name(buffer, "columns"), *(columns.count for columns in across))
        return [first, count]

    def _rows(self, *pieces: Piece) -> list[str]:
        """First row, number of rows, and where they lie."""
        first = self._number("first_row", *(piece.rows.first for piece in pieces))
        planes = self.planes.get(pieces[0].whole)
        count = planes.count * planes.height if planes else pieces[0].rows.count  # all of them, of all planes
        return [first, str(count), self._address(*(piece.tensor for piece in pieces))]

    def _columns(self, piece: Piece) -> Columns:
        if piece.whole in self.planes:
            return Columns(0, self.planes[piece.whole].width)
        return piece.columns or (all_columns(piece.whole) if has_rows(piece.whole) else Columns(0, 1))

    def _operand(self, position: int, *calls: Call) -> str:
        """What a call reads: a value in an arena, or a constant."""
        tensors = [call.kernel.reads[position] for call in calls]
        if not tensors[0].is_constant:
            return self._tensor(*tensors)
        tables = [_table_of(call.kernel, tensor) for call, tensor in zip(calls, tensors, strict=True)]
        symbol = self._pointer(c_type(tables[0].dtype), "operand", *map(self.symbol, tables))
        return _sum(symbol, *self._terms("part", *(table.first for table in tables)))

    def _result(self, *tensors: Tensor) -> ResultText:
        buffer = self.schedule.places[tensors[0]].buffer
        bytes = self._bytes("uint32_t", buffer, *(tensor.type.bytes for tensor in tensors))
        return ResultText(self._address(*tensors), bytes)

    def _tensor(self, *tensors: Tensor) -> str:
        ctype, pointer = c_type(tensors[0].type.dtype), self._address(*tensors)
        return pointer if ctype == "int8_t" else f"({ctype} *)(void *)({pointer})"

    def _address(self, *tensors: Tensor) -> str:
        places = [self.schedule.places[tensor] for tensor in tensors]
        return self._within(places[0].buffer, *(place.offset for place in places))

    def _within(self, buffer: Buffer, *offsets: int) -> str:
        """A pointer to a place some bytes behind the start of a buffer."""
        return self.places.of_buffer(buffer, *self._terms((buffer, "start"), *offsets))

    def _bytes(self, ctype: str, buffer: Buffer, *values: int) -> str:
        """How much of a buffer is moved or written."""
        number = _sum(*self._terms((buffer, "bytes"), *values))
        if len(set(values)) == 1:
            return number
        return f"({ctype})({number})" if " " in number else f"({ctype}){number}"

    def _number(self, name: str, *values: int) -> str:
        return _sum(*self._terms(name, *values)) or "0"

    def _terms(self, use: Use, *values: int) -> list[str]:
        """What adds up to a number that grows from iteration to iteration by a constant distance, if at all."""
        first, second = values[: self.strips], values[self.strips :]
        terms = self.members.number(use, first)
        if second:
            distance = tuple(b - a for a, b in zip(first, second, strict=True))
            terms += _times(self.members.number(use, distance), "i")
        return terms

    def _pointer(self, ctype: str, name: str, *values: str) -> str:
        """A pointer that is the same in all iterations, but may be another one in each strip."""
        return self.members.pointer(ctype, name, values[: self.strips])


def _sum(*terms: str) -> str:
    return " + ".join(terms).replace("+ -", "- ")


def _times(terms: Sequence[str], variable: str) -> list[str]:
    """The product of a sum with a variable, as a term; nothing for 0."""
    factor = terms[0] if len(terms) == 1 else f"({_sum(*terms)})"
    known = {"()": [], "1": [variable], "-1": [f"-{variable}"]}
    return known.get(factor, [f"{factor} * {variable}"])


def _of(kind: type[_Kind], steps: Sequence[object]) -> list[_Kind]:
    """Steps that are known to be of one kind."""
    return [step for step in steps if isinstance(step, kind)]


def _table_of(kernel: Kernel, operand: Tensor) -> Table:
    return next(table for table in kernel.tables if table.data is operand.data)
