"""`tinygen bench`: instructions, stack, code and constants."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tinygen.build.desk import Desk
from tinygen.cli.command import command as as_command
from tinygen.cli.page_file import PageFile
from tinygen.cli.suite import SuiteName, measure_suite
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.options import Options
from tinygen.targets import load
from tinygen.tasks.measuring import BenchRequest, bench_model, note_counter

_SUITE = "The suite"
_GOALS = "time,balanced,ram,size"

Model = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="The network; left out with --suite.", show_default=False)
]
SuiteOption = Annotated[
    SuiteName | None,
    typer.Option(
        "--suite",
        help="Measure all models of MLPerf Tiny instead, by goal, beside TFLM; -t takes boards separated by commas.",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
Goals = Annotated[
    str | None,
    typer.Option(
        "--goals",
        metavar="GOALS",
        help="Goals of -O, separated by commas.",
        show_default=_GOALS,
        rich_help_panel=_SUITE,
    ),
]
Models = Annotated[
    Path | None,
    typer.Option(
        "--models",
        metavar="FOLDER",
        help="The reference models (default: those of `make models`).",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
SuiteOut = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        help="Where the suite's Markdown, JSON and picture go.",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files there that tinygen did not write.", rich_help_panel=_SUITE),
]


@as_command(without=["name"])
def command(
    terminal: Terminal,
    options: Options,
    desk: Desk,
    asked: BenchRequest,
    page: PageFile,
    model: Model = None,
    suite: SuiteOption = None,
    goals: Goals = None,
    models: Models = None,
    output: SuiteOut = None,
    force: Force = False,
) -> None:
    """Measure one inference under QEMU: instructions, stack, code and constants; with --port cycles on a board too."""
    if (model is None) is (suite is None):
        raise UsageError("bench: a MODEL or --suite was expected, and not both. Name one.")
    if model is None:
        _check_left_out("--suite", {"--per-op": asked.per_op, "--port": desk.chosen, "--html": page.html})
        measure_suite(terminal, options, goals or _GOALS, asked.compare, models, output, force)
        for target in options.target.split(","):
            note_counter(load(target), terminal)
        return
    _check_left_out("MODEL", {"--goals": goals, "--models": models, "--output": output, "--force": force})
    page.check_free(model)
    found = bench_model(model, options, asked, desk.chosen, terminal)
    page.write(found.title, found)
    terminal.result(found, *found.tables)


def _check_left_out(beside: str, options: Mapping[str, object]) -> None:
    """Raise UsageError for an option that says nothing of what is measured."""
    given = [name for name, value in options.items() if value]
    if given:
        other = "MODEL" if beside == "--suite" else "--suite"
        raise UsageError(f"{given[0]}: is for {other}, which is not given, it was expected. Leave the option out.")
