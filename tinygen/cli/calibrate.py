"""`tinygen calibrate`: a float model and samples become a CTable."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from tinygen.calib.making import Calibrated, Refined, prepare
from tinygen.calib.request import CalibrationRequest
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.table_file import check_free_for_table, write_table
from tinygen.cli.terminal import Terminal
from tinygen.quant.ctable_file import ctable_text
from tinygen.report.calibration import CalibrationReport, calibration_tables, difference_table, policy_of, warnings
from tinygen.report.engines import engine_tables

Out = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="CTable to write.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is no CTable.")]


@as_command()
def command(terminal: Terminal, model: Model, out: Out, request: CalibrationRequest, force: Force = False) -> None:
    """Find the quantization of a float model from samples, and write it as a CTable."""
    check_free_for_table(out, force, (model, request.data))
    work = prepare(model, request)
    for text in work.notes:
        terminal.note(text)
    with terminal.progress(f"calibrating {model.name}") as progress:
        made = work.run(progress)
    write_table(out, ctable_text(made.table))
    if isinstance(made, Refined):
        terminal.result({"ctable": out, "changes": made.changes}, difference_table(made.changes))
        return
    report = _report(model, out, made)
    for text in report.warnings:
        terminal.note(text)
    tables = () if report.engines is None else engine_tables(report.engines)
    terminal.result(report, Group(*calibration_tables(report), *tables))


def _report(model: Path, out: Path, found: Calibrated) -> CalibrationReport:
    chosen, held_out, table = found.found, found.held_out, found.table
    return CalibrationReport(
        model=model.name,
        ctable=out,
        samples=found.samples,
        policy=policy_of(table),
        tensors=len(table.tensors),
        seconds=found.seconds,
        forward=found.forward,
        groups=chosen.groups,
        layers=chosen.layers,
        trials=chosen.trials,
        mixed=chosen.mixed,
        engines=chosen.engines,
        held_out=held_out,
        warnings=() if held_out is None else warnings(model.name, found.settings, held_out),
    )
