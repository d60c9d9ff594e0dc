"""`tinygen sweep`: many models on many boards, with many options, as one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tinygen.cli.command import command as as_command
from tinygen.cli.output_file import check_free, make_folder, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.option import HelpPanel
from tinygen.options import Options
from tinygen.sweeping.engine import Cluster, package
from tinygen.sweeping.page import html_page
from tinygen.sweeping.point import PointTask
from tinygen.sweeping.sweep import Sweep, plan_of, read_plan
from tinygen.sweeping.table import FILES, csv_text, is_own_table, parquet_bytes, standing, summary

ModelFiles = Annotated[list[Path], typer.Argument(metavar="MODELS...", help="The networks.", show_default=False)]
Targets = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--target",
        metavar="BOARDS",
        help=f"Boards, separated by commas (default: {Options.target}).",
        show_default=False,
    ),
]
Goals = Annotated[str | None, typer.Option("-O", "--optimize", metavar="GOALS", help="Goals, separated by commas.")]
Libraries = Annotated[str | None, typer.Option("--kernels", metavar="LIBRARIES", help="Kernels, separated by commas.")]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="TOML file: a table 'axes' of any options of `tinygen compile` with lists of values, and tables 'exclude' "
        "of points to leave out.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write.", show_default=False)]
ValidateSamples = Annotated[
    int,
    typer.Option(
        "--validate", metavar="N", min=0, help="Validate each with N samples.", rich_help_panel=HelpPanel.POINTS
    ),
]
Measured = Annotated[
    bool,
    typer.Option("--bench", help="Measure each point.", rich_help_panel=HelpPanel.POINTS),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Samples to validate with; where they have labels, rows have the accuracy.",
        show_default=False,
        rich_help_panel=HelpPanel.POINTS,
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="S", min=0.1, help="Seconds that a point may take.", rich_help_panel=HelpPanel.POINTS
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Folder of earlier results (default: in tinygen's cache folder).",
        rich_help_panel=HelpPanel.PLACE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that tinygen did not write.")]


@as_command()
def command(
    terminal: Terminal,
    models: ModelFiles,
    out: Out,
    cluster: Cluster,
    target: Targets = None,
    optimize: Goals = None,
    kernels: Libraries = None,
    plan: PlanFile = None,
    validate: ValidateSamples = 0,
    bench: Measured = False,
    data: Data = None,
    timeout: Timeout = PointTask.timeout_s,
    cache: CacheFolder = None,
    force: Force = False,
) -> None:
    """Inspect every model on every board with every option, and write one table. What is done is not done again."""
    package("distributed"), package("pyarrow")
    axes = {"optimize": optimize, "kernels": kernels}
    named = {keyword: text.split(",") for keyword, text in axes.items() if text is not None}
    points = plan_of(target.split(",") if target else (), named, read_plan(plan) if plan else None)
    files = _free_files(out, force)
    if data is not None and not data.is_file():
        raise UsageError(f"{data}: there is no such file, samples were expected. Correct --data.")
    swept = Sweep(models, points, PointTask(validate, bench, data, timeout), cluster, cache)
    total = len(models) * len(points.points)
    try:
        with terminal.searching(f"sweeping {total:,} points") as watch:
            for done in swept.run():
                watch(standing(swept.failures, swept.best), done, total)
    except BaseException:
        if swept.rows:  # else nothing was done, and tables that are there stay
            _write(swept, files, total, terminal)
        raise
    _write(swept, files, total, terminal)
    terminal.result({"points": len(swept.rows), "rows": swept.rows}, *summary(swept.rows, f"{total:,} points"))


def _write(swept: Sweep, files: Sequence[Path], total: int, terminal: Terminal) -> None:
    """The tables of what was done."""
    rows = swept.rows
    write_bytes(files[0], csv_text(swept.columns, rows).encode(errors="surrogateescape"))
    write_bytes(files[1], parquet_bytes(swept.columns, rows))
    write_bytes(files[2], html_page(swept.columns, rows).encode())
    terminal.note(f"{files[0].parent}: wrote {', '.join(FILES)} with {len(rows):,} of {total:,} points")


def _free_files(out: Path, force: bool) -> list[Path]:
    """The files to write, in a folder that is made where it is missing."""
    make_folder(out)
    files = [out / name for name in FILES]
    for file in files:
        check_free(file, force, is_own_table)
    return files
