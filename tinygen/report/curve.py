"""What less RAM costs: the document, table and picture of the curve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinygen.planner.plan import CurvePoint
from tinygen.planner.schedule.constants import const_bytes
from tinygen.report.axis import Tick, nice_ticks
from tinygen.report.operators import extra_macs
from tinygen.report.table import ShownTable, count, listing

RESIDENT, STREAMED, REREADABLE = "resident", "streamed", "rereadable"  # how the model gets its input

_LEFT, _RIGHT, _TOP, _BOTTOM = 92.0, 24.0, 14.0, 44.0
_WIDTH, _HEIGHT = 560.0, 260.0
_HEADROOM = 1.08


@dataclass(frozen=True)
class CurveRow:
    """A schedule on the curve."""

    input: str  # resident, streamed or rereadable
    arena_bytes: int
    lower_bound_bytes: int
    extra_macs: int
    const_bytes: int  # of flash: weights, biases and other tables
    instructions: int  # of one inference, estimated
    extra_instructions: int  # beyond the fastest plan of all rows
    fused_operators: int  # that run row by row
    chosen: bool  # whether this is the plan that is compiled


@dataclass(frozen=True)
class Knee:
    """The larger arena on the curve whose bytes save most, beside the plan that is chosen."""

    arena_bytes: int
    more_bytes: int
    saved_share: float  # of the chosen plan's instructions

    def __str__(self) -> str:
        return f"{count(self.more_bytes)} bytes more save {self.saved_share:.0%} of the instructions"


@dataclass(frozen=True)
class Dot:
    """A point of the curve in the picture."""

    x: float
    y: float
    row: CurveRow


@dataclass(frozen=True)
class Line:
    """The points of one input mode, the smallest arena first, and a staircase through them."""

    input: str
    path: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class CurvePicture:
    """Everything that the template draws."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    lines: tuple[Line, ...]
    bytes: tuple[Tick, ...]
    instructions: tuple[Tick, ...]


def curve_rows(curves: Mapping[str, Sequence[CurvePoint]]) -> tuple[CurveRow, ...]:
    """The rows of all input modes; what they cost counts from the fastest of them."""
    least = min((point.instructions for points in curves.values() for point in points), default=0)
    return tuple(
        CurveRow(
            input=input,
            arena_bytes=point.schedule.arena_bytes,
            lower_bound_bytes=point.schedule.lower_bound_bytes,
            extra_macs=extra_macs(point.schedule),
            const_bytes=const_bytes(point.schedule),
            instructions=point.instructions,
            extra_instructions=point.instructions - least,
            fused_operators=len({call.whole for call in point.schedule.calls if call.split_from}),
            chosen=point.is_chosen,
        )
        for input, points in curves.items()
        for point in points
    )


def next_knee(rows: Sequence[CurveRow]) -> Knee | None:
    """Where the most instructions are saved for each byte beyond the chosen plan's, with the input as it comes there;
    None where no arena on the curve is larger, or none saves anything.
    """
    chosen = next((row for row in rows if row.chosen), None)
    if chosen is None:
        return None
    larger = [
        row
        for row in rows
        if row.input == chosen.input and row.arena_bytes > chosen.arena_bytes and row.instructions < chosen.instructions
    ]
    best = max(
        larger,
        key=lambda row: (chosen.instructions - row.instructions) / (row.arena_bytes - chosen.arena_bytes),
        default=None,
    )
    if best is None:
        return None
    more_bytes = best.arena_bytes - chosen.arena_bytes
    return Knee(best.arena_bytes, more_bytes, 1 - best.instructions / chosen.instructions)


def curve_table(rows: Sequence[CurveRow]) -> ShownTable:
    """The curve for people."""
    columns = ("input", "arena", "lower bound", "extra MACs", "constants", "instructions", "extra", "by rows", "")
    cells = (
        (
            row.input,
            row.arena_bytes,
            row.lower_bound_bytes,
            row.extra_macs,
            row.const_bytes,
            row.instructions,
            row.extra_instructions,
            row.fused_operators,
            "chosen" if row.chosen else "",
        )
        for row in rows
    )
    return listing(columns, cells, "What less RAM costs; instructions are estimates, extra beyond the fastest row")


def curve_picture(rows: Sequence[CurveRow]) -> CurvePicture | None:
    """Arena across, extra instructions up; None where there is but one point for each input mode."""
    modes = list(dict.fromkeys(row.input for row in rows))
    if len(rows) <= len(modes):
        return None
    most_bytes = max(row.arena_bytes for row in rows) * _HEADROOM
    most = max(1, *(row.extra_instructions for row in rows)) * _HEADROOM

    def x(size: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * size / most_bytes, 2)

    def y(instructions: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * instructions / most, 2)

    def line(mode: str) -> Line:
        own = sorted((row for row in rows if row.input == mode), key=lambda row: row.arena_bytes)
        dots = tuple(Dot(x(row.arena_bytes), y(row.extra_instructions), row) for row in own)
        steps = "".join(f"H{dot.x:g}V{dot.y:g}" for dot in dots[1:])
        return Line(mode, f"M{dots[0].x:g} {dots[0].y:g}{steps}", dots)

    return CurvePicture(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        bottom=_HEIGHT - _BOTTOM,
        lines=tuple(line(mode) for mode in modes),
        bytes=tuple(Tick(x(value), count(value)) for value in nice_ticks(int(most_bytes), 6)),
        instructions=tuple(Tick(y(value), count(value)) for value in nice_ticks(int(most), 5)),
    )
