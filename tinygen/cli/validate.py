"""`tinygen validate`: outputs and inner tensors against a reference."""

from tinygen.build.desk import Desk
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.page_file import PageFile
from tinygen.cli.terminal import Terminal
from tinygen.options import Options
from tinygen.tasks.compiling import compiled_within
from tinygen.tasks.validation import ValidationRequest, validate_compiled


@as_command(without=["name"])
def command(
    terminal: Terminal, model: Model, options: Options, desk: Desk, asked: ValidationRequest, page: PageFile
) -> None:
    """Run a model on the target and compare every tensor with a reference, to the bit."""
    page.check_free(model, asked.data)
    found = validate_compiled(compiled_within(model, options, terminal, desk.chosen), asked, terminal)
    page.write(f"{found.model} on {found.target}", found)
    terminal.result(found, *found.tables)
    found.check_exact()
