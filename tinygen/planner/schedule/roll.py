"""Finds the loops in lists of steps: runs of rows or slices that differ by constant distances only, and strips."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tinygen.ir.tensor import Tensor
from tinygen.planner.schedule.schedule import Call, Crop, Fetch, FlatStep, Loop, Place, Shift, Store, Strips

_LONGEST_BODY = 400  # steps
_FEWEST_ITERATIONS = 3  # of rows or slices; strips are long, two of them are worth a loop


@dataclass(frozen=True)
class _Item:
    """A step."""

    step: FlatStep
    kind: Hashable  # equal in all iterations and strips
    fixed: Hashable  # equal in all iterations
    numbers: tuple[int, ...]  # that may move from iteration to iteration


@dataclass(frozen=True)
class Roller:
    """Finds loops. `same` tells which calls are of the same operator with the same kernel."""

    places: Mapping[Tensor, Place]
    same: Mapping[Call, Hashable]

    def roll(self, strips: Sequence[Sequence[FlatStep]]) -> list[FlatStep | Loop | Strips]:
        """The steps with loops where at least three iterations follow each other, the longest run first; strips with
        the same kinds of steps and loops are one step."""
        found = [_rolled([self._item(step) for step in steps]) for steps in strips]
        rolled: list[FlatStep | Loop | Strips] = []
        for _, equal in groupby(found, lambda strip: [kind for _step, kind in strip]):
            iterations = tuple(tuple(step for step, _ in strip) for strip in equal)
            rolled += iterations[0] if len(iterations) == 1 else [Strips(iterations)]
        return rolled

    def _item(self, step: FlatStep) -> _Item:
        match step:
            case Call():
                return self._call(step)
            case Shift():
                return _Item(step, ("shift", step.buffer, step.moves_up), (step.source, step.target, step.bytes), ())
            case Fetch():
                place, rows = self.places[step.piece.tensor], step.piece.rows
                fixed = (rows.count, step.piece.columns)
                return _Item(step, ("fetch", step.port, place.buffer), fixed, (place.offset, rows.first))
            case Store():
                place, rows = self.places[step.piece.tensor], step.piece.rows
                return _Item(step, ("store", step.port, place.buffer), rows.count, (place.offset, rows.first))
            case Crop():
                source, target = self.places[step.source.tensor], self.places[step.target.tensor]
                kind = ("crop", source.buffer, target.buffer)
                return _Item(step, kind, step.target.tensor.type.bytes, (source.offset, target.offset))

    def _call(self, call: Call) -> _Item:
        kernel = call.kernel
        touched = [self.places[tensor] for tensor in (*kernel.reads, *kernel.writes) if not tensor.is_constant]
        buffers = tuple(place.buffer for place in touched)
        kind = ("call", call.whole, type(kernel), kernel.runner, call.scratch, buffers)
        fixed = (self.same[call], *(table.stored for table in kernel.tables))
        parts = (table.part for table in kernel.tables)
        return _Item(call, kind, fixed, (*(place.offset for place in touched), *parts))


def _rolled(items: Sequence[_Item]) -> list[tuple[FlatStep | Loop, Hashable]]:
    """Steps and loops, each with its kind."""
    rolled: list[tuple[FlatStep | Loop, Hashable]] = []
    position = 0
    while position < len(items):
        body, count = _longest_run(items, position)
        if count < _FEWEST_ITERATIONS:
            rolled.append((items[position].step, items[position].kind))
            position += 1
            continue
        starts = range(position, position + body * count, body)
        iterations = tuple(tuple(item.step for item in items[start : start + body]) for start in starts)
        rolled.append((Loop(iterations), (count, *(item.kind for item in items[position : position + body]))))
        position += body * count
    return rolled


def _longest_run(items: Sequence[_Item], position: int) -> tuple[int, int]:
    """Body length and iterations of the run at `position` that covers most steps; the shortest body of equals."""
    best, covered = (1, 1), 0
    for body in range(1, min(_LONGEST_BODY, (len(items) - position) // _FEWEST_ITERATIONS) + 1):
        if not _is_alike(items[position + body], items[position]):
            continue
        count = _iterations(items, position, body)
        if count >= _FEWEST_ITERATIONS and count * body > covered:
            best, covered = (body, count), count * body
    return best


def _iterations(items: Sequence[_Item], position: int, body: int) -> int:
    """How many times a body repeats from `position` on."""
    distances: list[tuple[int, ...]] = []
    count = 1
    while position + (count + 1) * body <= len(items):
        start = position + count * body
        for offset in range(body):
            before, after = items[start + offset - body], items[start + offset]
            if not _is_alike(before, after):
                return count
            distance = _distance(before, after)
            if count == 1:
                distances.append(distance)
            elif distances[offset] != distance:
                return count
        count += 1
    return count


def _is_alike(first: _Item, second: _Item) -> bool:
    """Whether two steps may be one in a loop, as far as that does not depend on others."""
    return (first.kind, first.fixed) == (second.kind, second.fixed)


def _distance(before: _Item, after: _Item) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(before.numbers, after.numbers, strict=True))
