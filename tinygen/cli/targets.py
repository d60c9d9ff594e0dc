"""`tinygen targets`: which boards there are."""

from tinygen import targets
from tinygen.cli.command import command as as_command
from tinygen.cli.terminal import Terminal
from tinygen.report.boards import board_table, describe


@as_command()
def command(terminal: Terminal) -> None:
    """List the boards that -t takes, with core, instruction set, RAM and flash."""
    boards = tuple(describe(targets.load(name)) for name in targets.names())
    terminal.result({"targets": boards}, board_table(boards))
