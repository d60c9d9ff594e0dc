"""`tinygen calibrate`: a float model and samples become a CTable."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from tinygen.calib.layer_errors import layer_errors
from tinygen.calib.making import Calibrated, Refining, prepare
from tinygen.calib.request import CalibrationRequest
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.table_file import check_free_for_table, write_table
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.quant.ctable_file import ctable_text
from tinygen.report.calibration import CalibrationReport, calibration_tables, difference_table, policy_of, warnings
from tinygen.report.engines import engine_tables
from tinygen.report.layer_errors import PICTURE_MARK, LayerError, layer_error_picture

Out = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="CTable to write.", show_default=False)]
Errors = Annotated[
    Path | None,
    typer.Option(
        "--errors",
        metavar="FILE",
        help="Measure what each layer loses, and what int4 weights in it alone would cost; draw it as SVG.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is no CTable.")]


@as_command()
def command(
    terminal: Terminal,
    model: Model,
    out: Out,
    request: CalibrationRequest,
    errors: Errors = None,
    force: Force = False,
) -> None:
    """Find the quantization of a float model from samples, and write it as a CTable."""
    check_free_for_table(out, force, (model, request.data))
    _check_errors(errors, request, force, (model, request.data), out)
    work = prepare(model, request)
    for text in work.notes:
        terminal.note(text)
    if isinstance(work, Refining):
        refined = work.run()
        write_table(out, ctable_text(refined.table))
        terminal.result({"ctable": out, "changes": refined.changes}, difference_table(refined.changes))
        return
    with terminal.progress(f"calibrating {model.name}") as progress:
        made = work.run(progress)
    write_table(out, ctable_text(made.table))
    lost = () if errors is None else layer_errors(work.calibrator, made.found.calibration, work.data)
    report = _report(model, out, made, lost)
    if errors is not None:
        write_bytes(errors, layer_error_picture(model.name, lost).encode())
    for text in report.warnings:
        terminal.note(text)
    tables = () if report.engines is None else engine_tables(report.engines)
    terminal.result(report, Group(*calibration_tables(report), *tables))


def _check_errors(
    file: Path | None, request: CalibrationRequest, force: bool, inputs: Sequence[Path | None], out: Path
) -> None:
    """Raise UsageError where the picture cannot be drawn, or would stand in place of something else."""
    if file is None:
        return
    if request.refine:
        raise UsageError("--errors: --refine has no samples to measure on, --data was expected. Leave one of them out.")
    if file.resolve() == out.resolve():
        raise UsageError(f"--errors, --output: are both {file}, two files were expected. Choose another name for one.")
    check_free(file, force, _is_picture, "no picture of tinygen's", inputs)


def _is_picture(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(PICTURE_MARK)) == PICTURE_MARK.encode()


def _report(model: Path, out: Path, found: Calibrated, errors: tuple[LayerError, ...]) -> CalibrationReport:
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
        errors=errors,
    )
