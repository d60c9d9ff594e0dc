"""`tinygen supported-ops`: which operators models may have."""

from typing import Annotated

import typer

from tinygen.cli.command import command as as_command
from tinygen.cli.terminal import Terminal
from tinygen.report.supported import (
    supported_markdown,
    supported_onnx_operators,
    supported_operators,
    supported_table,
)

Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]


@as_command()
def command(terminal: Terminal, markdown: Markdown = False) -> None:
    """List the operators that models may have: int8, and float32 or uint8 at the model's inputs and outputs."""
    operators = {"tflite": supported_operators(), "onnx": supported_onnx_operators()}
    if markdown and not terminal.json:
        terminal.text("\n".join(supported_markdown(*entry) for entry in operators.items()))
        return
    terminal.result(operators, *(supported_table(*entry) for entry in operators.items()))
