"""The report of `tinygen compile` as one HTML page that needs nothing else."""

import json
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tinygen import __version__, paths
from tinygen.kernels.base import Library
from tinygen.planner.schedule.schedule import Schedule
from tinygen.report.charts import Leaf
from tinygen.report.compilation import Compilation
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, CurveRow, curve_picture
from tinygen.report.flash import CONSTANTS, flash_picture
from tinygen.report.goals import GoalRow, goals_picture
from tinygen.report.memory_map import memory_map
from tinygen.report.network import NetworkRow, network_picture, network_rows
from tinygen.report.picture import Picture, missing_note
from tinygen.report.plain import one_line
from tinygen.report.plan import BufferRole, PlanReport, describe
from tinygen.report.result import Result
from tinygen.report.shares import Share, cost_picture
from tinygen.report.table import count, shape, short_name

PAGE_MARK = '<meta name="generator" content="tinygen">'
"""What pages have near their beginning (`templates/page.html.j2`)."""

_MOST_CONSTANTS = 25  # shown one by one
_ESTIMATE = "instructions"  # of the price table, in each operator's row


@dataclass(frozen=True, repr=False)
class FullReport(Compilation):
    """All of what `tinygen compile` can say: the document of `--report`."""

    cpu: str
    isa: str
    input: str  # resident, streamed or rereadable
    unsplit_bytes: int  # the arena with whole tensors
    plan: PlanReport
    curve: tuple[CurveRow, ...]
    const_limit_bytes: int
    network: tuple[NetworkRow, ...]
    goals: tuple[GoalRow, ...]  # of other plans of the same network

    @property
    def room(self) -> tuple[Share, ...]:
        """Its memories beside those of the part."""
        return (*super().room, Share("flash: constants", self.const_bytes, self.const_limit_bytes, "bytes"))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The network, time by operator, flash, the part, goals, shrinking."""
        tables = (Leaf(CONSTANTS, f"{row.index} {row.name}", row.bytes) for row in self.plan.constants)
        explains = "Tables of the network; what the code takes, tinygen bench --per-op --html measures."
        return (
            network_picture(self.network, _ESTIMATE),
            cost_picture(self.network, _ESTIMATE),
            *([flash_picture(tables, explains)] if self.plan.constants else []),
            *([goals_picture(self.goals)] if self.goals else []),
            *super().pictures,
        )


def full_report(
    compilation: Compilation,
    schedule: Schedule,
    library: Library,
    curve: tuple[CurveRow, ...],
    const_limit_bytes: int,
    goals: tuple[GoalRow, ...] = (),
) -> FullReport:
    """The report on a schedule; `curve` begins, for each input mode, with whole tensors."""
    input = REREADABLE if schedule.rereads_input else STREAMED if schedule.fetched else RESIDENT
    return FullReport(
        **vars(compilation),
        cpu=schedule.board.cpu,
        isa=schedule.board.isa.value,
        input=input,
        unsplit_bytes=next(row.arena_bytes for row in curve if row.input == input),
        plan=describe(schedule),
        curve=curve,
        const_limit_bytes=const_limit_bytes,
        network=network_rows(schedule, library),
        goals=goals,
    )


def result_page(title: str, result: Result) -> str:
    """The page of any other result: its pictures, then its tables."""
    return (
        escaping_environment()
        .get_template("result.html.j2")
        .render(
            title=title, pictures=result.pictures, missing=missing_note(), tables=result.tables, version=__version__
        )
    )


def html_page(report: FullReport) -> str:
    """The page."""
    constants = report.plan.constants
    return (
        escaping_environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            pictures=report.pictures,
            missing=missing_note(),
            plan=report.plan,
            map=memory_map(report.plan),
            curve=curve_picture(report.curve),
            roles=[role for role in BufferRole if any(buffer.role is role for buffer in report.plan.buffers)],
            steps=json.dumps([[step.text, step.live_bytes] for step in report.plan.steps], separators=(",", ":")),
            constants=constants[:_MOST_CONSTANTS],
            other_constants=constants[_MOST_CONSTANTS:],
            version=__version__,
        )
    )


@cache
def escaping_environment() -> Environment:
    """Escapes everything: names in a model are whatever its author wrote."""
    environment = Environment(
        loader=FileSystemLoader(paths.TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_readable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=count, shape=shape, short=short_name)
    return environment


def _readable(value: object) -> object:
    """Texts without what no page can hold: halves of surrogates in names of files, and other invisible characters."""
    return one_line(value) if type(value) is str else value  # else Markup, which has its own line breaks
