"""`tinygen new`: a product's tinygen.toml, from a few answers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tinygen import targets
from tinygen.cli.command import command as as_command
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.kernels.base import Objective
from tinygen.option import choice
from tinygen.options import Options
from tinygen.report.table import facts
from tinygen.tasks.product_file import PRODUCT_FILE, product_text, read_product

_GOALS = ", ".join(goal.value for goal in Objective)

Models = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="The networks, MODEL or NAME=MODEL (asked for).", show_default=False),
]
Target = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--target",
        help=f"Part, board or core (asked for; {Options.target} where nobody answers).",
        show_default=False,
    ),
]
Goal = Annotated[
    str | None,
    typer.Option("-O", "--optimize", metavar="GOAL", help=f"One of {_GOALS} (asked for).", show_default=False),
]
Out = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


@as_command()
def command(
    terminal: Terminal,
    models: Models = None,
    target: Target = None,
    optimize: Goal = None,
    output: Out = Path(PRODUCT_FILE),
    force: Force = False,
) -> None:
    """Write a product's tinygen.toml: its networks, part and goal, which `tinygen build` repeats."""
    check_free(output, force, lambda _: False, "may be another product's")
    chosen = models or [_asked("MODEL", "Model, the path of a file")]
    part = target or _asked("--target", "Part or board, such as stm32f407vg or nrf52840", Options.target)
    goal = optimize or _asked("--optimize", f"Goal, one of {_GOALS}")
    targets.cores(part)
    choice(Objective, "optimize", goal)
    text = product_text([_beside(output, model) for model in chosen], "out", {"target": part, "optimize": goal})
    write_bytes(output, text.encode())
    product = read_product(output)
    rows = [
        ("models", ", ".join(product.models)),
        ("target", part),
        ("goal", goal),
        ("next", f"tinygen build {output}"),
    ]
    terminal.result(
        {"product": output, "models": product.models, "target": part, "optimize": goal}, facts(f"{output}", rows)
    )


def _asked(option: str, question: str, default: str | None = None) -> str:
    """The answer to a question, or its default; UsageError where nobody answers and there is none."""
    missing = UsageError(f"{option}: is not given, and nobody can be asked here. Add it.")
    if not sys.stdin.isatty():
        if default is None:
            raise missing
        return default
    try:
        return str(typer.prompt(question, default=default, err=True))
    except typer.Abort:
        raise missing from None


def _beside(output: Path, model: str) -> str:
    """How the product's file names a model; UsageError where there is none, or it lies elsewhere."""
    name, separator, path = model.partition("=")
    is_named = bool(separator) and name.isidentifier() and not Path(model).exists()
    file = Path(path if is_named else model)
    if not file.exists():
        raise UsageError(f"{file}: there is no such file. Name a .tflite or .onnx model.")
    folder = output.resolve().parent
    if not file.resolve().is_relative_to(folder):
        raise UsageError(
            f"{file}: lies outside of {output}'s folder, inside of it was expected, so that the product is one folder. "
            "Copy it there, or choose another -o."
        )
    relative = file.resolve().relative_to(folder).as_posix()
    return f"{name}={relative}" if is_named else relative
