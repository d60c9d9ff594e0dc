"""`tinygen quantize`: a float model becomes a quantized one for other runtimes."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.tasks.quantization import ModelFormat, QuantizationRequest, quantize_model

Out = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="Model to write, .onnx or .tflite.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@as_command(without=["activations"])
def command(terminal: Terminal, model: Model, out: Out, request: QuantizationRequest, force: Force = False) -> None:
    """Write a float model as a quantized one that onnxruntime and other runtimes take."""
    suffixes = {f".{format.value}": format for format in ModelFormat}
    if out.suffix.lower() not in suffixes:
        raise UsageError(f"{out}: has the suffix '{out.suffix}', .onnx or .tflite was expected. Rename it.")
    check_free(out, force, lambda _: False, "may be another network", (model, request.data, request.ctable))
    made = quantize_model(model, request, suffixes[out.suffix.lower()], out.name, terminal)
    write_bytes(out, made.content)
    report = replace(made.report, output=out)
    terminal.result(report, *report.tables)
