"""The picture of a plan: steps across, addresses up, a rectangle for every part of a buffer while it is live.

Lengths are in user units of the SVG, with two decimals. Segments of many steps get less width per step than short ones:
the square root of their steps.
"""

from dataclasses import dataclass
from math import sqrt

from tinygen.report.axis import Tick, nice_ticks
from tinygen.report.plan import BufferRow, LivePart, Plan, SegmentRow
from tinygen.report.table import count

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 34.0, 40.0
_WIDTH, _HEIGHT = 1160.0, 520.0
_HEADROOM = 1.04  # over the arena
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
class Band:
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
    bottom: float
    shapes: tuple[Shape, ...]
    bands: tuple[Band, ...]
    addresses: tuple[Tick, ...]
    steps: tuple[Tick, ...]
    level: str  # path of the live bytes
    arena_y: float
    bound_y: float
    peak_x: float
    peak_y: float


@dataclass(frozen=True)
class _Scale:
    """From ticks and addresses to the picture."""

    bands: tuple[Band, ...]
    most_bytes: float

    def x(self, tick: int) -> float:
        band = next((b for b in self.bands if tick < 2 * b.segment.end_step), self.bands[-1])
        steps = band.segment.end_step - band.segment.first_step
        return round(band.x + band.width * (tick / 2 - band.segment.first_step) / steps, 2)

    def y(self, address: int) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * address / self.most_bytes, 2)

    def rectangle(self, part: LivePart) -> Rectangle:
        x, top = self.x(part.first_tick), self.y(part.offset + part.bytes)
        return Rectangle(x, top, round(self.x(part.last_tick + 1) - x, 2), round(self.y(part.offset) - top, 2))


def memory_map(plan: Plan) -> MemoryMap | None:
    """The picture of a plan; None where it has no steps."""
    if not plan.segments or not plan.arena_bytes:
        return None
    scale = _Scale(_bands(plan), plan.arena_bytes * _HEADROOM)
    return MemoryMap(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        bottom=_HEIGHT - _BOTTOM,
        shapes=tuple(_shape(buffer, scale, number % 2 == 0) for number, buffer in enumerate(plan.buffers)),
        bands=scale.bands,
        addresses=tuple(Tick(scale.y(value), count(value)) for value in nice_ticks(plan.arena_bytes, 6)),
        steps=_step_ticks(plan, scale),
        level=_level(plan, scale),
        arena_y=scale.y(plan.arena_bytes),
        bound_y=scale.y(plan.lower_bound_bytes),
        peak_x=scale.x(plan.live_bytes.index(plan.peak_bytes)),
        peak_y=scale.y(plan.peak_bytes),
    )


def _bands(plan: Plan) -> tuple[Band, ...]:
    weights = [_weight(segment) for segment in plan.segments]
    unit = (_WIDTH - _LEFT - _RIGHT) / sum(weights)
    bands, x = [], _LEFT
    for number, (segment, weight) in enumerate(zip(plan.segments, weights, strict=True), start=1):
        width = weight * unit
        bands.append(Band(number, segment, round(x, 2), round(width, 2), width >= _NARROWEST_NAME))
        x += width
    return tuple(bands)


def _weight(segment: SegmentRow) -> float:
    """Steps on whole tensors take the width that each would take alone."""
    steps = segment.end_step - segment.first_step
    return sqrt(steps) if segment.is_fused else float(steps)


def _step_ticks(plan: Plan, scale: _Scale) -> tuple[Tick, ...]:
    """Steps at round numbers, as far apart as their numbers need."""
    ticks: list[Tick] = []
    for step in (*(segment.first_step for segment in plan.segments), *nice_ticks(len(plan.steps), 24)):
        x = scale.x(2 * step)
        if step < len(plan.steps) and all(abs(x - tick.at) > len(tick.text) * 2 * _LABEL_CHARACTER for tick in ticks):
            ticks.append(Tick(x, count(step)))
    return tuple(sorted(ticks, key=lambda tick: tick.at))


def _shape(buffer: BufferRow, scale: _Scale, is_even: bool) -> Shape:
    rectangles = tuple(scale.rectangle(part) for part in buffer.parts)
    room = [r for r in rectangles if r.height > _LABEL_HEIGHT and r.width > len(buffer.label) * _LABEL_CHARACTER + 6]
    largest = max(room, key=lambda rectangle: rectangle.width * rectangle.height, default=None)
    return Shape(buffer, rectangles, Label(largest.x + 4, largest.y + _LABEL_HEIGHT - 1, buffer.label) if largest else None, is_even)


def _level(plan: Plan, scale: _Scale) -> str:
    """A staircase of the bytes that are live."""
    path = [f"M{scale.x(0):g} {scale.y(plan.live_bytes[0]):g}"]
    for tick, level in enumerate(plan.live_bytes):
        if tick and level != plan.live_bytes[tick - 1]:
            path.append(f"H{scale.x(tick):g}V{scale.y(level):g}")
    path.append(f"H{scale.x(len(plan.live_bytes)):g}")
    return "".join(path)
