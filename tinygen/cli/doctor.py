"""`tinygen doctor`: what is installed, and how to get the rest."""

from tinygen.build.inventory import take_inventory
from tinygen.cli.command import command as as_command
from tinygen.cli.terminal import Terminal
from tinygen.errors import ToolError
from tinygen.report.health import health_table, judge, places_table


@as_command()
def command(terminal: Terminal) -> None:
    """Show which tools are there, with -v also where, and how to get the others. Exit code 6: no host compiler."""
    with terminal.progress("looking for tools"):
        health = judge(take_inventory())
    tables = [health_table(health), places_table(health)] if terminal.verbose else [health_table(health)]
    terminal.result(health, *tables)
    missing = [tool for tool in health.tools if tool.is_essential and tool.version is None]
    if missing:
        names, remedies = ", ".join(tool.name for tool in missing), " and ".join(tool.remedy for tool in missing)
        raise ToolError(f"{names}: not found on PATH, needed for the host. Run `{remedies}`.")
