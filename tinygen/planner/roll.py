"""Finds the loops in a flat list of steps: runs of iterations that differ by constant distances only."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.tensor import Tensor
from tinygen.planner.schedule import Call, Crop, Fetch, FlatStep, Loop, Place, Shift, Store

_LONGEST_BODY = 400  # steps
_FEWEST_ITERATIONS = 3


@dataclass(frozen=True)
class _Shape:
    """What must be equal in every iteration, and the numbers that may move."""

    key: Hashable
    numbers: tuple[int, ...]


def roll(
    steps: Sequence[FlatStep], places: Mapping[Tensor, Place], same: Mapping[Call, Hashable]
) -> list[FlatStep | Loop]:
    """The steps with loops where at least three iterations follow each other, the longest run first.

    `same` tells which calls are of the same operator with the same kernel.
    """
    shapes = [_shape(step, places, same) for step in steps]
    rolled: list[FlatStep | Loop] = []
    position = 0
    while position < len(steps):
        body, count = _longest_run(shapes, position)
        if count < _FEWEST_ITERATIONS:
            rolled.append(steps[position])
            position += 1
            continue
        starts = range(position, position + body * count, body)
        rolled.append(Loop(tuple(tuple(steps[start : start + body]) for start in starts)))
        position += body * count
    return rolled


def _longest_run(shapes: Sequence[_Shape], position: int) -> tuple[int, int]:
    """Body length and iterations of the run at `position` that covers most steps; the shortest body of equals."""
    best, covered = (1, 1), 0
    for body in range(1, min(_LONGEST_BODY, (len(shapes) - position) // _FEWEST_ITERATIONS) + 1):
        if shapes[position + body].key != shapes[position].key:
            continue
        count = _iterations(shapes, position, body)
        if count >= _FEWEST_ITERATIONS and count * body > covered:
            best, covered = (body, count), count * body
    return best


def _iterations(shapes: Sequence[_Shape], position: int, body: int) -> int:
    """How many times a body repeats from `position` on."""
    distances: list[tuple[int, ...]] = []
    count = 1
    while position + (count + 1) * body <= len(shapes):
        start = position + count * body
        for offset in range(body):
            before, after = shapes[start + offset - body], shapes[start + offset]
            if before.key != after.key:
                return count
            distance = tuple(b - a for a, b in zip(before.numbers, after.numbers, strict=True))
            if count == 1:
                distances.append(distance)
            elif distances[offset] != distance:
                return count
        count += 1
    return count


def _shape(step: FlatStep, places: Mapping[Tensor, Place], same: Mapping[Call, Hashable]) -> _Shape:
    match step:
        case Call():
            touched = [places[t] for t in (*step.kernel.reads, *step.kernel.writes) if not t.is_constant]
            key = (same[step], *(place.buffer for place in touched))
            return _Shape(key, tuple(place.offset for place in touched))
        case Shift():
            return _Shape((step.buffer, step.source, step.target, step.bytes), ())
        case Fetch():
            place = places[step.piece.tensor]
            rows, columns = step.piece.rows, step.piece.columns
            return _Shape((step.port, place.buffer, rows.count, columns), (place.offset, rows.first))
        case Store():
            place, rows = places[step.piece.tensor], step.piece.rows
            return _Shape(("store", step.port, place.buffer, rows.count), (place.offset, rows.first))
        case Crop():
            source, target = places[step.source.tensor], places[step.target.tensor]
            key = (source.buffer, target.buffer, step.target.tensor.type.bytes)
            return _Shape(key, (source.offset, target.offset))
