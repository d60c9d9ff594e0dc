"""`tinygen bench --suite mlperf`: all tasks of MLPerf Tiny on any boards."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path

from tinygen.build.output import check_folder, write_folder
from tinygen.cli.terminal import Terminal
from tinygen.kernels.base import Library, Objective
from tinygen.option import choice
from tinygen.options import Kernels, Options
from tinygen.report.document import json_text
from tinygen.suite.measure import SuitePlan, run_suite
from tinygen.suite.picture import picture
from tinygen.suite.tables import markdown, suite_tables

_FILES = ("mlperf.md", "mlperf.json", "mlperf.svg")


class SuiteName(StrEnum):
    """Models that are measured together."""

    MLPERF = "mlperf"


def measure_suite(
    terminal: Terminal,
    options: Options,
    goals: str,
    compare: str | None,
    models: Path | None,
    out: Path | None,
    force: bool,
) -> None:
    """Measure on all boards of `options.target`, separated by commas; show the table, and write it into `out`."""
    others = [] if compare is None else [choice(Library, "compare", name) for name in compare.split(",")]
    plan = SuitePlan(
        targets=tuple(options.target.split(",")),
        goals=tuple(choice(Objective, "goals", goal) for goal in goals.split(",")),
        kernels=(options.kernels, *(Kernels(library.value) for library in others)),
        models=models,
        command=shlex.join(["tinygen", *sys.argv[1:]]),
    )
    if out is not None:
        check_folder(out, force, _FILES)
    with terminal.progress("measuring MLPerf Tiny") as step:
        suite = run_suite(plan, options, step)
    if out is not None:
        texts = (markdown(suite), f"{json_text(suite)}\n", picture(suite))
        write_folder(out, dict(zip(_FILES, texts, strict=True)), force)
    terminal.result(suite, *suite_tables(suite))
    if out is not None:
        terminal.note(f"{out}: wrote {', '.join(_FILES)}")
