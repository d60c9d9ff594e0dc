"""`tinygen run`: generate, build, execute."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.build.desk import Desk
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, is_own_archive, write_outputs
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.options import InputMode, Options
from tinygen.tasks.compiling import compiled_within
from tinygen.tasks.running import RunRequest, run_compiled
from tinygen.tasks.samples import SAMPLES_HELP

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="FILE",
        help=f"{SAMPLES_HELP} Without it, one random sample.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write the outputs as .npz: out0, out1, ...", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an --output that tinygen did not write.")]


@as_command(without=["name"])
def command(
    terminal: Terminal,
    model: Model,
    options: Options,
    desk: Desk,
    asked: RunRequest,
    input: Inputs = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Generate, build and execute a model, on this machine, under QEMU or on a board, and show its outputs."""
    file, mode = _input_file(input or []), _input_mode(input or [])
    options = replace(options, input=mode)
    _check_output(output, force, (model, file, options.calibrate, options.ctable))
    found = run_compiled(compiled_within(model, options, terminal, desk.chosen), asked, file, terminal)
    if output is not None:
        write_outputs(output, list(found.outputs.values()))
    terminal.result(found, *found.tables)


def _input_file(given: list[str]) -> Path | None:
    """The file among the values of --input, which also says whether the input is resident or streamed."""
    files = [value for value in given if value not in set(InputMode)]
    if len(files) > 1:
        raise UsageError(
            f"--input: names the files {', '.join(files)}, one was expected. Put all arrays into one .npz."
        )
    return Path(files[0]) if files else None


def _input_mode(given: list[str]) -> InputMode:
    modes = list(dict.fromkeys(InputMode(value) for value in given if value in set(InputMode)))
    if len(modes) > 1:
        raise UsageError(f"--input: is {' and '.join(modes)}, one of them was expected. Leave the others out.")
    return modes[0] if modes else InputMode.RESIDENT


def _check_output(output: Path | None, force: bool, inputs: tuple[Path | None, ...]) -> None:
    if output is None:
        return
    if output.suffix != ".npz":
        raise UsageError(f"--output {output}: has the suffix '{output.suffix}', '.npz' was expected. Rename it.")
    check_free(output, force, is_own_archive, inputs=inputs)
