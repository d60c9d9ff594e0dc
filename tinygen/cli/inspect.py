"""`tinygen inspect`: is the model supported, does it fit, where is the peak."""

from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.page_file import PageFile
from tinygen.cli.terminal import Terminal
from tinygen.options import Options
from tinygen.tasks.inspection import InspectionRequest, inspect_model


@as_command(without=["name"])
def command(terminal: Terminal, model: Model, options: Options, asked: InspectionRequest, page: PageFile) -> None:
    """Show whether a model is supported and fits, and what stands in the way. Needs no C compiler, and writes no C."""
    page.check_free(model)
    found, refusal = inspect_model(model, options, asked, terminal)
    page.write(f"{model.name} for {found.target}", found)
    terminal.result(found, *(() if found.unsupported else found.tables))  # the message lists what is not supported
    if refusal is not None:
        raise refusal
