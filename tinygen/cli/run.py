"""`tinygen run`: generate, build, execute."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import load_inputs, load_labels, stack_outputs
from tinygen.build.desk import Desk
from tinygen.build.outcome import Outcome
from tinygen.cli.command import HOST
from tinygen.cli.command import command as as_command
from tinygen.cli.kernel_note import kernel_note
from tinygen.cli.options import Model, Seed
from tinygen.cli.output_file import check_free, is_own_archive, write_outputs
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.options import InputMode, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.accuracy import accuracy_table
from tinygen.report.execution import Run, nested, output_table, run_table
from tinygen.verify.accuracy import accuracy_of
from tinygen.verify.samples import Samples, random_samples

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="FILE",
        help="Samples, .npy or .npz with an array per input (named as in the model, or in0, in1, ...); "
        "the first axis counts samples. Without it, one random sample.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write the outputs as .npz: out0, out1, ...", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an --output that tinygen did not write.")]


@as_command(HOST, without=["name"])
def command(
    terminal: Terminal,
    model: Model,
    options: Options,
    desk: Desk,
    input: Inputs = None,
    output: Output = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Generate, build and execute a model, on this machine, under QEMU or on a board, and show its outputs."""
    file, mode = _input_file(input or []), _input_mode(input or [])
    options = replace(options, input=mode)
    _check_output(output, force, (model, file, options.calibrate, options.ctable))
    with terminal.progress(f"running {model.name}"):
        compiled = replace(compile_model(model, options), desk=desk.chosen)
        compiled.check_fits()
        samples = _samples(compiled, file, seed)
        terminal.note(kernel_note(compiled))
        execution = compiled.execute(samples)
    arrays = stack_outputs(execution.outputs)
    labels = None if file is None else load_labels(compiled, file, len(samples))
    accuracy = (
        None if labels is None else accuracy_of(compiled, samples, [each[0] for each in execution.outputs], labels)
    )
    names = [port.name for port in compiled.graph.outputs]
    if output is not None:
        write_outputs(output, arrays)
    run = Run(
        model=model.name,
        target=compiled.board.name,
        kernels=compiled.kernels,
        samples=len(samples),
        outputs={name: nested(array) for name, array in zip(names, arrays, strict=True)},
        instructions=_per_inference(compiled, execution.outcome, len(samples)),
        cycles=None if desk.chosen is None else execution.outcome.values["cycles"] // len(samples),
        arena_bytes=compiled.schedule.arena_bytes,
        accuracy=accuracy,
    )
    tables = [run_table(run), output_table(names, arrays)]
    terminal.result(run, *tables, *(() if accuracy is None else [accuracy_table(accuracy)]))


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


def _samples(compiled: Compiled, file: Path | None, seed: int) -> Samples:
    ports = compiled.graph.inputs
    if file is None:
        return random_samples(ports, 1, seed)
    samples = load_inputs(compiled, file)
    if not samples:
        raise UsageError(f"{file}: holds 0 samples, at least 1 was expected.")
    return samples


def _per_inference(compiled: Compiled, outcome: Outcome, samples: int) -> int | None:
    """Instructions of one sample, on average; the host counts none, and boards count cycles."""
    return None if compiled.board.is_host or compiled.desk else outcome.values["instructions"] // samples


def _check_output(output: Path | None, force: bool, inputs: tuple[Path | None, ...]) -> None:
    if output is None:
        return
    if output.suffix != ".npz":
        raise UsageError(f"--output {output}: has the suffix '{output.suffix}', '.npz' was expected. Rename it.")
    check_free(output, force, is_own_archive, inputs=inputs)
