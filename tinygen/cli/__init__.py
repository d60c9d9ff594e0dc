"""The command line: parses, calls the pipeline, prints."""

import io
import sys
from typing import Annotated

import typer

from tinygen import __version__
from tinygen.cli import signals
from tinygen.cli.group import CommandGroup
from tinygen.cli.options import Quiet, Verbose

_FAILING = ("strict", "surrogateescape")  # the latter with LANG=C

app = typer.Typer(
    name="tinygen",
    cls=CommandGroup,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: tinygen compile kws.tflite -t mps2-an386 -o kws/",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"tinygen {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]


@app.callback()
def tinygen(version: Version = False, verbose: Verbose = False, quiet: Quiet = False) -> None:
    """From a quantized network to readable C for microcontrollers, proven to the bit.

    Exit codes: 0 ok, 2 usage, 3 model not supported, 4 does not fit, 5 mismatch, 6 tool missing, 1 anything else.
    """


def main() -> None:
    """Entry point of the command `tinygen`."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _FAILING:
        sys.stdout.reconfigure(errors="backslashreplace")  # names in models may hold what a terminal cannot show
    signals.obey()
    try:
        app(prog_name="tinygen")
    except signals.Terminated as ended:  # while modules are loaded; commands handle it themselves
        raise SystemExit(ended.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
