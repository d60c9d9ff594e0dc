"""The picture of a plan: steps across, addresses up, a rectangle for every part of a buffer while it is live; below it
the bytes that are live in each step.

Lengths are in user units of the SVG, with two decimals. Segments of many steps get less width per step than short ones:
the square root of their steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import sqrt

from tinygen.report.axis import Tick, nice_ticks
from tinygen.report.plan import BufferRow, LivePart, PlanReport, SegmentRow
from tinygen.report.table import count

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 34.0, 40.0
_WIDTH, _HEIGHT = 1160.0, 640.0
_HEADROOM = 1.03  # over the arena
_LEVELS = 110.0  # height of the live bytes, below the map
_GAP = 18.0
_MAP_BOTTOM = _HEIGHT - _BOTTOM - _LEVELS - _GAP
_LABEL_HEIGHT, _LABEL_CHARACTER = 12.0, 6.4
_NARROWEST_NAME = 40.0  # of a segment that has its name above it


@dataclass(frozen=True)
class Rectangle:
    """One part of a buffer over the time that it is live."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Label:
    """Text and where its baseline begins."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Shape:
    """A buffer: its live parts, and a label where one of them has room for it."""

    buffer: BufferRow
    rectangles: tuple[Rectangle, ...]
    label: Label | None
    is_even: bool  # neighbours differ in shade


@dataclass(frozen=True)
class SegmentBand:
    """The width of a segment."""

    number: int
    segment: SegmentRow
    x: float
    width: float
    has_name: bool


@dataclass(frozen=True)
class MemoryMap:
    """Everything that the template draws."""

    width: float
    height: float
    left: float
    right: float
    top: float
    map_bottom: float
    bottom: float
    shapes: tuple[Shape, ...]
    bands: tuple[SegmentBand, ...]
    addresses: tuple[Tick, ...]
    steps: tuple[Tick, ...]
    ends: tuple[Tick, ...]  # of the arena in each memory
    levels: str  # path around the live bytes of each step
    level_marks: tuple[Tick, ...]
    level_arena_y: float
    level_bound_y: float
    peak_x: float
    peak_y: float


@dataclass(frozen=True)
class _Scale:
    """From ticks and addresses to the picture."""

    bands: tuple[SegmentBand, ...]
    most_bytes: float
    starts: Mapping[str, int]  # of the arena in each memory: they are drawn one above the other

    def x(self, tick: int) -> float:
        band = next((b for b in self.bands if tick < 2 * b.segment.end_step), self.bands[-1])
        steps = band.segment.end_step - band.segment.first_step
        return round(band.x + band.width * (tick / 2 - band.segment.first_step) / steps, 2)

    def y(self, address: int) -> float:
        return round(_MAP_BOTTOM - (_MAP_BOTTOM - _TOP) * address / self.most_bytes, 2)

    def level_y(self, size: int) -> float:
        return round(_HEIGHT - _BOTTOM - _LEVELS * size / self.most_bytes, 2)

    def rectangle(self, part: LivePart, memory: str) -> Rectangle:
        start = self.starts[memory] + part.offset
        x, top = self.x(part.first_tick), self.y(start + part.bytes)
        return Rectangle(x, top, round(self.x(part.last_tick + 1) - x, 2), round(self.y(start) - top, 2))


def memory_map(plan: PlanReport) -> MemoryMap | None:
    """The picture of a plan; None where it has no steps."""
    if not plan.segments or not plan.arena_bytes:
        return None
    ends = list(accumulate(arena.bytes for arena in plan.arenas))
    starts = {arena.memory: end - arena.bytes for arena, end in zip(plan.arenas, ends, strict=True)}
    scale = _Scale(_bands(plan), plan.arena_bytes * _HEADROOM, starts)
    return MemoryMap(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        map_bottom=_MAP_BOTTOM,
        bottom=_HEIGHT - _BOTTOM,
        shapes=tuple(_shapes(plan, scale)),
        bands=scale.bands,
        addresses=tuple(_addresses(plan, scale)),
        steps=_step_ticks(plan, scale),
        ends=tuple(Tick(scale.y(end), arena.memory) for arena, end in zip(plan.arenas, ends, strict=True)),
        levels=_levels(plan, scale),
        level_marks=tuple(Tick(scale.level_y(value), count(value)) for value in nice_ticks(plan.arena_bytes, 3)),
        level_arena_y=scale.level_y(plan.arena_bytes),
        level_bound_y=scale.level_y(plan.lower_bound_bytes),
        peak_x=round((scale.x(2 * plan.peak_step) + scale.x(2 * plan.peak_step + 2)) / 2, 2),
        peak_y=scale.level_y(plan.peak_bytes),
    )


def _bands(plan: PlanReport) -> tuple[SegmentBand, ...]:
    weights = [_weight(segment) for segment in plan.segments]
    unit = (_WIDTH - _LEFT - _RIGHT) / sum(weights)
    bands, x = [], _LEFT
    for number, (segment, weight) in enumerate(zip(plan.segments, weights, strict=True), start=1):
        width = weight * unit
        bands.append(SegmentBand(number, segment, round(x, 2), round(width, 2), width >= _NARROWEST_NAME))
        x += width
    return tuple(bands)


def _weight(segment: SegmentRow) -> float:
    """Steps on whole tensors take the width that each would take alone."""
    steps = segment.end_step - segment.first_step
    return sqrt(steps) if segment.is_fused else float(steps)


def _addresses(plan: PlanReport, scale: _Scale) -> Iterator[Tick]:
    """Round addresses, in each memory from 0 on."""
    for arena in plan.arenas:
        for value in nice_ticks(arena.bytes, max(1, 8 * arena.bytes // plan.arena_bytes)):
            yield Tick(scale.y(scale.starts[arena.memory] + value), count(value))


def _step_ticks(plan: PlanReport, scale: _Scale) -> tuple[Tick, ...]:
    """Steps at round numbers, as far apart as their numbers need."""
    ticks: list[Tick] = []
    for step in (*(segment.first_step for segment in plan.segments), *nice_ticks(len(plan.steps), 24)):
        x = scale.x(2 * step)
        if step < len(plan.steps) and all(abs(x - tick.at) > len(tick.text) * 2 * _LABEL_CHARACTER for tick in ticks):
            ticks.append(Tick(x, count(step)))
    return tuple(sorted(ticks, key=lambda tick: tick.at))


def _shapes(plan: PlanReport, scale: _Scale) -> Iterator[Shape]:
    """The buffers by address; neighbours differ in shade."""
    for number, buffer in enumerate(sorted(plan.buffers, key=lambda b: (b.memory, b.offset, b.first_step))):
        rectangles = tuple(scale.rectangle(part, buffer.memory) for part in buffer.parts)
        yield Shape(buffer, rectangles, _label(buffer.label, rectangles), is_even=number % 2 == 0)


def _label(text: str, rectangles: Sequence[Rectangle]) -> Label | None:
    """The text in the largest rectangle that has room for it."""
    room = [r for r in rectangles if r.height > _LABEL_HEIGHT and r.width > len(text) * _LABEL_CHARACTER + 6]
    if not room:
        return None
    largest = max(room, key=lambda rectangle: rectangle.width * rectangle.height)
    return Label(largest.x + 4, round(largest.y + _LABEL_HEIGHT - 1, 2), text)


def _levels(plan: PlanReport, scale: _Scale) -> str:
    """A staircase of the most bytes that are live in each step, closed along the axis."""
    levels = [step.live_bytes for step in plan.steps]
    path = [f"M{scale.x(0):g} {scale.level_y(0):g}V{scale.level_y(levels[0]):g}"]
    for step, (before, level) in enumerate(pairwise(levels), start=1):
        if level != before:
            path.append(f"H{scale.x(2 * step):g}V{scale.level_y(level):g}")
    path.append(f"H{scale.x(2 * len(levels)):g}V{scale.level_y(0):g}Z")
    return "".join(path)
