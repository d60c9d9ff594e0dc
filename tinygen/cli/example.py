"""`tinygen example`: a network and its samples, to try commands on."""

from pathlib import Path
from typing import Annotated

import typer

from tinygen import paths
from tinygen.cli.command import command as as_command
from tinygen.cli.output_file import IsOwn, check_free, make_folder, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.report.table import facts

_FILES = {"digits_int8.tflite": "network, int8", "digits_test.npz": "images of handwritten digits, with labels"}

Out = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write into; it is made where it is missing.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files of these names that are others.")]


def _holds(content: bytes) -> IsOwn:
    """Whether a file is what would be written."""
    return lambda file: file.read_bytes() == content


@as_command()
def command(terminal: Terminal, out: Out = Path("digits"), force: Force = False) -> None:
    """Write a small network and its samples into a folder, to try commands on."""
    contents = {out / name: (paths.EXAMPLE / name).read_bytes() for name in _FILES}
    make_folder(out, parents=True)
    for file, content in contents.items():
        check_free(file, force, _holds(content), "another file")
    for file, content in contents.items():
        write_bytes(file, content)
    rows = [(str(out / name), says) for name, says in _FILES.items()]
    terminal.result({"files": [str(file) for file in contents]}, facts("An example", rows))
