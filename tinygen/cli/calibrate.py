"""`tinygen calibrate`: a float model and samples become a CTable."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.calib.request import CalibrationRequest
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.page_file import PageFile
from tinygen.cli.table_file import check_free_for_table, write_table
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.quant.ctable_file import ctable_text
from tinygen.report.calibration import CalibrationReport
from tinygen.report.layer_errors import PICTURE_MARK, layer_error_picture
from tinygen.tasks.calibration import calibrate_model

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
    page: PageFile,
    errors: Errors = None,
    force: Force = False,
) -> None:
    """Find the quantization of a float model from samples, and write it as a CTable."""
    check_free_for_table(out, force, (model, request.data))
    _check_errors(errors, request, force, (model, request.data), out)
    page.check_free(model, request.data)
    made = calibrate_model(model, request, terminal, errors is not None)
    write_table(out, ctable_text(made.table))
    report = replace(made.report, ctable=out)
    if errors is not None and isinstance(report, CalibrationReport):
        write_bytes(errors, layer_error_picture(model.name, report.errors).encode())
    page.write(f"calibration of {model.name}", report)
    terminal.result(report, *report.tables)


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
