"""`tinygen validate`: outputs and inner tensors against a reference."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import DEFAULT_SAMPLES, load_inputs, load_labels, results_of
from tinygen.build.desk import Desk
from tinygen.cli.command import HOST
from tinygen.cli.command import command as as_command
from tinygen.cli.kernel_note import kernel_note
from tinygen.cli.options import MOST_SAMPLES, Model, Seed
from tinygen.cli.terminal import Terminal
from tinygen.errors import MismatchError
from tinygen.option import choice
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.report.accuracy import accuracy_table
from tinygen.report.validation import layer_table, permitted_table, validation_table
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import Validation, validate

Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="ORACLE",
        help="litert or tflm (reference kernels of LiteRT and TFLite Micro; for TFLite models), ort (onnxruntime; for "
        "ONNX models) or simulator (tinygen's references alone).",
        show_default="the one that runs the model's file",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Samples, .npz or .npy with an array per input (named as in the model, or in0, in1, ...); "
        "the first axis counts samples. Without it, random samples.",
        show_default=False,
    ),
]
SampleCount = Annotated[
    int | None,
    typer.Option(
        "--samples",
        min=1,
        max=MOST_SAMPLES,
        help=f"How many samples to compare (default: all of --data, or {DEFAULT_SAMPLES}).",
        show_default=False,
    ),
]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="List the differences of each operator.")]


@as_command(HOST, without=["name"])
def command(
    terminal: Terminal,
    model: Model,
    options: Options,
    desk: Desk,
    against: Against = None,
    data: Data = None,
    samples: SampleCount = None,
    per_layer: PerLayer = False,
    seed: Seed = 0,
) -> None:
    """Run a model on the target and compare every tensor with a reference, to the bit."""
    oracle = None if against is None else choice(Oracle, "against", against)
    compiled = replace(compile_model(model, options), desk=desk.chosen)
    compiled.check_fits()
    terminal.note(kernel_note(compiled))
    given = None if data is None else load_inputs(compiled, data)
    count = samples if samples is not None else DEFAULT_SAMPLES if given is None else results_of(compiled, given)
    with terminal.progress(f"validating {model.name}") as progress:
        labels = None if data is None or given is None else load_labels(compiled, data, len(given))
        found = validate(compiled, given, count, oracle, seed, per_layer, progress, labels)
    tables = [validation_table(model.name, found)]
    if found.permitted:
        tables.append(permitted_table(found.permitted))
    if found.accuracy is not None:
        tables.append(accuracy_table(found.accuracy))
    if per_layer:
        tables.append(layer_table(found.layers))
    terminal.result(found, *tables)
    if not found.exact:
        raise MismatchError(_mismatch(model, found))


def _mismatch(model: Path, found: Validation) -> str:
    where = f"{model.name} on {found.target}"
    what = f"{found.mismatches} elements differ from {found.oracle.value} in {found.samples} samples, 0 were expected."
    if found.first_mismatch is None:
        return f"{where}: {what}"
    first = found.first_mismatch
    return f"{where}: {what} First: {first.operator} '{first.name}' ({first.side.value}). Please report this."
