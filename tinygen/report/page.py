"""The report of `tinygen compile` as one HTML page that needs nothing else."""

import json
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tinygen import __version__, paths
from tinygen.planner.schedule.schedule import Schedule
from tinygen.report.compilation import Compilation
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, CurveRow, curve_picture
from tinygen.report.memory_map import memory_map
from tinygen.report.plan import BufferRole, PlanReport, describe
from tinygen.report.table import count, shape, short_name

_MOST_CONSTANTS = 25  # shown one by one


@dataclass(frozen=True, repr=False)
class FullReport(Compilation):
    """All of what `tinygen compile` can say: the document of `--report`."""

    cpu: str
    isa: str
    input: str  # resident, streamed or rereadable
    unsplit_bytes: int  # the arena with whole tensors
    plan: PlanReport
    curve: tuple[CurveRow, ...]


def full_report(compilation: Compilation, schedule: Schedule, curve: tuple[CurveRow, ...]) -> FullReport:
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
    )


def html_page(report: FullReport) -> str:
    """The page."""
    constants = report.plan.constants
    return (
        escaping_environment()
        .get_template("report.html.j2")
        .render(
            report=report,
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
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=count, shape=shape, short=short_name)
    return environment
