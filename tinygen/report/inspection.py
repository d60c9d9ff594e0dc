"""Whether a model is supported and fits a machine: the document of `tinygen inspect`."""

from dataclasses import dataclass
from pathlib import Path

from tinygen.errors import UnsupportedOperator, counted
from tinygen.passes.shrinking.saving import NOTHING_SAVED, Saving
from tinygen.planner.fit import fits_ram
from tinygen.planner.memory.occupancy import occupancy
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.report.charts import Leaf
from tinygen.report.curve import CurveRow, Knee, curve_table, next_knee
from tinygen.report.flash import CONSTANTS, flash_picture
from tinygen.report.hot_code import HotCodeSummary, hot_code_summary
from tinygen.report.operators import OperatorRow, extra_macs, kind, operator_rows, operator_table
from tinygen.report.picture import Picture
from tinygen.report.result import Result
from tinygen.report.saved import saved_rows
from tinygen.report.shares import Share, room_picture, shrunk_pictures
from tinygen.report.states import StateSummary, state_summaries, state_table
from tinygen.report.stream import StreamSummary, stream_rows, stream_summary
from tinygen.report.table import ShownTable, count, facts, listing, short_name, size
from tinygen.targets import Board

_UNCOUNTED = "without code and layer parameters"  # whose bytes a C compiler decides


@dataclass(frozen=True)
class LiveBuffer:
    """A buffer at the peak."""

    name: str
    bytes: int  # that are live then


@dataclass(frozen=True)
class Peak:
    """The step at which most bytes are live."""

    step: int
    index: int  # of the operator in the model file
    operator: str
    name: str
    live_bytes: int
    buffers: tuple[LiveBuffer, ...]


@dataclass(frozen=True, repr=False)
class Inspection(Result):
    """What planning a model for a target says; numbers are None where the model cannot be planned."""

    model: str
    target: str
    fits: bool
    arena_bytes: int | None
    arena_limit_bytes: int
    lower_bound_bytes: int | None
    unsplit_bytes: int | None
    macs: int | None
    extra_macs: int | None
    const_bytes: int | None
    const_limit_bytes: int
    peak_step: Peak | None
    unsupported: tuple[UnsupportedOperator, ...] = ()
    ops: tuple[OperatorRow, ...] = ()
    curve: tuple[CurveRow, ...] = ()
    next_knee: Knee | None = None  # of the curve
    saved_macs: int = 0  # by shrinking the graph
    saved_const_bytes: int = 0
    stream: StreamSummary | None = None
    state_bytes: int | None = None  # of the arena, kept from call to call
    states: tuple[StateSummary, ...] = ()
    solver: str | None = None  # that placed the buffers
    hot_code: HotCodeSummary | None = None  # where a memory was named for it

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """Whether it fits and where the peak is, what keeps it from being planned, and what was asked for beside."""
        if self.unsupported:
            return (unsupported_table(self),)
        made = [summary_table(self)]
        if self.peak_step and self.fits:
            made.append(peak_table(self.peak_step))
        if self.states:
            made.append(state_table(self.states))
        if self.ops:
            made.append(operator_table(self.ops))
        if self.curve:
            made.append(curve_table(self.curve))
        return tuple(made)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What it would take of the part, what each operator takes where these are asked for, and shrinking."""
        if self.arena_bytes is None or self.const_bytes is None or self.macs is None:
            return ()
        room = (
            Share("RAM: arena", self.arena_bytes, self.arena_limit_bytes, "bytes"),
            Share("flash: constants", self.const_bytes, self.const_limit_bytes, "bytes"),
        )
        tables = [
            Leaf(CONSTANTS, f"{row.index} {row.operator}", row.const_bytes) for row in self.ops if row.const_bytes
        ]
        shrunk = shrunk_pictures(self.macs, self.const_bytes, self.saved_macs, self.saved_const_bytes)
        return (
            room_picture(room),
            *([flash_picture(tables, "Tables of the operators; code is not in it.")] if tables else []),
            *shrunk,
        )


def inspect_schedule(
    model: Path,
    schedule: Schedule,
    unsplit_bytes: int,
    arena_limit_bytes: int,
    const_limit_bytes: int,
    with_ops: bool,
    curve: tuple[CurveRow, ...],
    saved: Saving = NOTHING_SAVED,
) -> Inspection:
    """The inspection of a planned model; `unsplit_bytes` is the arena that it needs with whole tensors."""
    constants = const_bytes(schedule)
    return Inspection(
        model=str(model),
        target=schedule.board.name,
        fits=fits_ram(schedule, arena_limit_bytes) and constants <= const_limit_bytes,
        arena_bytes=schedule.arena_bytes,
        arena_limit_bytes=arena_limit_bytes,
        lower_bound_bytes=schedule.lower_bound_bytes,
        unsplit_bytes=unsplit_bytes,
        macs=schedule.graph.macs,
        extra_macs=extra_macs(schedule),
        const_bytes=constants,
        const_limit_bytes=const_limit_bytes,
        peak_step=_peak(schedule),
        ops=operator_rows(schedule) if with_ops else (),
        curve=curve,
        next_knee=next_knee(curve),
        saved_macs=saved.macs,
        saved_const_bytes=saved.const_bytes,
        stream=stream_summary(schedule),
        state_bytes=schedule.graph.state_bytes,
        states=state_summaries(schedule),
        solver=schedule.solver.value,
        hot_code=hot_code_summary(schedule.hot_code),
    )


def inspect_unsupported(
    model: Path,
    board: Board,
    arena_limit_bytes: int,
    const_limit_bytes: int,
    unsupported: tuple[UnsupportedOperator, ...],
) -> Inspection:
    """The inspection of a model that cannot be planned."""
    return Inspection(
        model=str(model),
        target=board.name,
        fits=False,
        arena_bytes=None,
        arena_limit_bytes=arena_limit_bytes,
        lower_bound_bytes=None,
        unsplit_bytes=None,
        macs=None,
        extra_macs=None,
        const_bytes=None,
        const_limit_bytes=const_limit_bytes,
        peak_step=None,
        unsupported=unsupported,
    )


def _peak(schedule: Schedule) -> Peak | None:
    found = occupancy(schedule)
    step = found.peak_step
    calls = [at for at in schedule.flat_steps[step:] if isinstance(at, Call)]
    if not calls:
        return None
    op = calls[0].whole  # rows are moved and fetched for the call that follows
    return Peak(
        step=step,
        index=op.source.index,
        operator=kind(op),
        name=op.name,
        live_bytes=found.peak_bytes,
        buffers=tuple(LiveBuffer(live.buffer.name, live.bytes) for live in found.at(step)),
    )


def unsupported_table(inspection: Inspection) -> ShownTable:
    """The operators that stand in the way."""
    rows = (
        (at.operator, "" if at.index is None else at.index, short_name(at.name), at.reason)
        for at in inspection.unsupported
    )
    are = "is" if len(inspection.unsupported) == 1 else "are"
    many = counted(len(inspection.unsupported), "operator")
    title = f"{inspection.model} for {inspection.target}: {many} {are} not supported"
    return listing(("operator", "index", "name", "reason"), rows, title)


def summary_table(inspection: Inspection) -> ShownTable:
    """Arena, constants and work, and whether they fit."""
    rows = [
        ("fits", "yes" if inspection.fits else "no"),
        ("arena", f"{size(inspection.arena_bytes)} of {count(inspection.arena_limit_bytes)}"),
        ("lower bound", size(inspection.lower_bound_bytes)),
        ("solver", str(inspection.solver)),
        ("whole tensors", size(inspection.unsplit_bytes)),
        ("constants", f"{size(inspection.const_bytes)} of {count(inspection.const_limit_bytes)}, {_UNCOUNTED}"),
        ("MACs", f"{count(inspection.macs)}, and {count(inspection.extra_macs)} done again by splitting"),
    ]
    if inspection.hot_code:
        rows += inspection.hot_code.rows
    if inspection.next_knee:
        rows.append(("next knee", str(inspection.next_knee)))
    rows += stream_rows(inspection.stream)
    if inspection.states and inspection.stream is None:
        rows.append(("state", f"{size(inspection.state_bytes)} of the arena, kept from call to call"))
    rows += saved_rows(inspection.saved_macs, inspection.saved_const_bytes)
    if inspection.peak_step:
        peak = inspection.peak_step
        rows.append(
            ("peak", f"operator {peak.index} ({peak.operator} '{short_name(peak.name)}'), {size(peak.live_bytes)} live")
        )
    return facts(f"{inspection.model} for {inspection.target}", rows)


def peak_table(peak: Peak) -> ShownTable:
    """The buffers that are live at the peak."""
    return listing(
        ("bytes", "buffer"), ((buffer.bytes, short_name(buffer.name)) for buffer in peak.buffers), "Live at the peak"
    )
