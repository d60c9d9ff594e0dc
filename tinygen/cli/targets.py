"""`tinygen targets`: which boards there are, and which microcontrollers are known by name."""

from typing import Annotated

import typer

from tinygen import targets
from tinygen.cli.command import command as as_command
from tinygen.cli.terminal import Terminal
from tinygen.report.boards import board_table, describe

Search = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="TEXT",
        help="Boards and microcontrollers with this in name, vendor, family or core: f4, nordic, cortex-m7.",
        show_default=False,
    ),
]


@as_command()
def command(terminal: Terminal, search: Search = None) -> None:
    """List the boards that -t takes, with core, instruction set, RAM and flash; it takes parts by name too."""
    found = tuple(map(targets.load, targets.names())) if search is None else targets.search(search)
    boards = tuple(map(describe, found))
    terminal.result({"targets": boards}, board_table(boards))
    if search is None:
        terminal.note(f"-t takes {len(targets.parts())} microcontrollers by name too: tinygen targets --search TEXT.")
    elif not boards:
        near = targets.nearest(search)
        hint = f" Names like it: {', '.join(near)}." if near else ""
        terminal.note(f"Nothing has {search!r} in its name, vendor, family or core.{hint}")
