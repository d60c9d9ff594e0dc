"""Steps of a fused chain as C statements: calls, moves of ring rows, rows from and to the application, loops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tinygen.codegen.arenas import arena_symbol
from tinygen.codegen.c_text import c_type, inline_comment
from tinygen.ir.rows import Columns, Piece, all_columns, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.planner.schedule import Buffer, Call, Crop, Fetch, FlatStep, Fused, Loop, Schedule, Shift, Store


@dataclass(frozen=True)
class CallText:
    """A call of a kernel's runner."""

    kind: ClassVar[str] = "call"

    number: int  # of the operator, from 1
    runner: str
    layer: str  # C expression for its address
    arguments: str
    results: tuple["ResultText", ...]


@dataclass(frozen=True)
class ResultText:
    """Bytes that a call has written."""

    pointer: str
    bytes: int


@dataclass(frozen=True)
class ShiftText:
    """A move of rows inside their ring."""

    kind: ClassVar[str] = "shift"

    function: str
    target: str
    source: str
    bytes: int
    content: str


@dataclass(frozen=True)
class FetchText:
    """Rows that the application writes."""

    kind: ClassVar[str] = "fetch"

    function: str  # without the model's name
    arguments: str  # behind `user`


@dataclass(frozen=True)
class StoreText:
    """Rows that the application takes."""

    kind: ClassVar[str] = "store"

    arguments: str  # behind `user`


@dataclass(frozen=True)
class CropText:
    """Columns of a row that are copied into a ring."""

    kind: ClassVar[str] = "crop"

    target: str
    source: str
    bytes: int
    content: str


@dataclass(frozen=True)
class LoopText:
    """A loop over `i`."""

    kind: ClassVar[str] = "loop"

    count: int
    body: tuple["Statement", ...]


Statement = CallText | ShiftText | FetchText | StoreText | CropText | LoopText

Names = Callable[[Sequence[Call]], tuple[int, str]]
"""Number of the operator and C expression for the layer of a call, for all iterations of the loop that it stands in."""


@dataclass(frozen=True)
class Address:
    """A place in an arena that may move by a constant distance in each iteration of a loop."""

    arena: str
    offset: int
    step: int = 0

    def pointer(self, ctype: str = "int8_t") -> str:
        """C expression for it."""
        terms = [self.arena, *([str(self.offset)] if self.offset else []), *_moving(self.step)]
        text = " + ".join(terms)
        return text if ctype == "int8_t" else f"({ctype} *)(void *)({text})"


@dataclass(frozen=True)
class Writer:
    """Writes the steps of one schedule."""

    schedule: Schedule
    names: Names
    constants: Callable[[Sequence[Call]], dict[Tensor, str]]  # C expressions for constant operands, as for layers
    content: Callable[[Buffer], str]

    def fused(self, fused: Fused) -> tuple[Statement, ...]:
        """The statements of a chain."""
        return tuple(self._step(step) for step in fused.steps)

    def call(self, *iterations: Call) -> CallText:
        """A call; of one in a loop all iterations."""
        call = iterations[0]
        number, layer = self.names(iterations)
        kernel, after = call.kernel, iterations[min(1, len(iterations) - 1)].kernel
        constants = self.constants(iterations)
        reads = [
            constants.get(tensor) or self._tensor(tensor, other)
            for tensor, other in zip(kernel.reads, after.reads, strict=True)
        ]
        arguments = [f"(const void *const[]){{{', '.join(reads)}}}"] if kernel.reads_as_array else reads
        writes = [self._tensor(tensor, other) for tensor, other in zip(kernel.writes, after.writes, strict=True)]
        arguments += writes
        if kernel.takes_scratch:
            arguments.append(self._within(call.scratch).pointer() if call.scratch else "NULL")
        results = tuple(
            ResultText(self._address(tensor, other).pointer(), tensor.type.bytes)
            for tensor, other in zip(kernel.writes, after.writes, strict=True)
        )
        return CallText(number, kernel.runner, layer, ", ".join(arguments), results)

    def shift(self, step: Shift) -> ShiftText:
        """A move inside a buffer."""
        target, source = (self._within(step.buffer, at).pointer() for at in (step.target, step.source))
        function = "tg_move_up" if moves_up(step) else "memmove"
        return ShiftText(function, target, source, step.bytes, inline_comment(self.content(step.buffer)))

    def _step(self, step: FlatStep | Loop) -> Statement:
        if isinstance(step, Loop):
            body = tuple(self._flat(*steps) for steps in zip(*step.iterations, strict=True))
            return LoopText(len(step.iterations), body)
        return self._flat(step)

    def _flat(self, *iterations: FlatStep) -> Statement:
        step, following = iterations[0], iterations[min(1, len(iterations) - 1)]
        match step, following:
            case Call(), Call():
                return self.call(*(step for step in iterations if isinstance(step, Call)))
            case Shift(), _:
                return self.shift(step)
            case Fetch(), Fetch():
                return self._fetch(step, following)
            case Store(), Store():
                return StoreText(", ".join(self._rows(step.piece, following.piece)))
            case Crop(), Crop():
                target = self._address(step.target.tensor, following.target.tensor).pointer()
                source = self._address(step.source.tensor, following.source.tensor).pointer()
                content = self.content(self.schedule.places[step.target.tensor].buffer)
                return CropText(target, source, step.target.tensor.type.bytes, inline_comment(content))
        raise TypeError(f"{step} and {following} are not the same step of two iterations")

    def _fetch(self, step: Fetch, following: Fetch) -> FetchText:
        piece = step.piece
        *rows, values = self._rows(piece, following.piece)
        if not self.schedule.rereads_input:
            return FetchText("fetch_rows", ", ".join([*rows, values]))
        across = piece.columns or (all_columns(piece.whole) if has_rows(piece.whole) else Columns(0, 1))
        return FetchText("fetch_patch", ", ".join([*rows, str(across.first), str(across.count), values]))

    def _rows(self, piece: Piece, following: Piece) -> list[str]:
        """First row, number of rows, and where they lie."""
        first, after = piece.rows.first, following.rows.first
        values = self._address(piece.tensor, following.tensor).pointer()
        return [_affine(first, after - first), str(piece.rows.count), values]

    def _tensor(self, tensor: Tensor, following: Tensor) -> str:
        return self._address(tensor, following).pointer(c_type(tensor.type.dtype))

    def _address(self, tensor: Tensor, following: Tensor) -> Address:
        place = self.schedule.places[tensor]
        step = self.schedule.address(following) - self.schedule.address(tensor)
        return self._within(place.buffer, place.offset, step)

    def _within(self, buffer: Buffer, offset: int = 0, step: int = 0) -> Address:
        """A place some bytes behind the start of a buffer."""
        return Address(arena_symbol(self.schedule, buffer), self.schedule.offsets[buffer] + offset, step)


def _moving(step: int) -> Sequence[str]:
    return [f"{step} * i"] if step else []


def _affine(first: int, step: int) -> str:
    terms = [*([str(first)] if first or not step else []), *_moving(step)]
    return " + ".join(terms)


def moves_up(shift: Shift) -> bool:
    """Whether bytes move to a higher address, over themselves."""
    return shift.source < shift.target < shift.source + shift.bytes
