"""Options that commands share and that decide nothing of the C, as the parser sees them."""

from pathlib import Path
from typing import Annotated

import typer

MOST_SAMPLES = 1_000_000  # that are drawn or read at once

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The network: a .tflite or .onnx file, .keras, .h5; with --trust .pt2, a SavedModel, model.py:function.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more; show tracebacks of internal errors.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only (and JSON, if asked for).")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random inputs, where no data is given.")]
