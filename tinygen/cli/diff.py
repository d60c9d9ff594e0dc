"""`tinygen diff`: what two builds differ in."""

from pathlib import Path
from typing import Annotated

import typer

from tinygen.cli.command import command as as_command
from tinygen.cli.options import Seed
from tinygen.cli.page_file import PageFile
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.option import written
from tinygen.options import Options
from tinygen.report.bench import Bench, bench
from tinygen.report.difference import difference, read_bench
from tinygen.tasks.compiling import compiled_within

_MOST_BYTES = 64 << 20  # of a document
_SUFFIX = ".json"

Build = Annotated[
    Path,
    typer.Argument(
        help="A model, which is compiled and measured with the options, or what `tinygen bench --per-op --json` wrote.",
        show_default=False,
    ),
]


@as_command(without=["name"])
def command(terminal: Terminal, a: Build, b: Build, options: Options, page: PageFile, seed: Seed = 0) -> None:
    """Show what two builds differ in: RAM, flash, and cycles, by operator and by symbol."""
    page.check_free(a, b)
    if {a.suffix.lower(), b.suffix.lower()} == {_SUFFIX}:
        _check_not_given(options)
    first, second = (_measured(terminal, build, options, seed) for build in (a, b))
    found = difference(str(a), first, str(b), second)
    page.write(f"{a.name} and {b.name}", found)
    terminal.result(found, *found.tables)


def _check_not_given(options: Options) -> None:
    """Raise UsageError where options would decide nothing, as both builds are measured already."""
    given = [keyword for keyword in written(options) if keyword != "target" or options.names_target]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')}: is for models, which are compiled now, one was expected. Leave it out: "
            "both builds are measured."
        )


def _measured(terminal: Terminal, build: Path, options: Options, seed: int) -> Bench:
    if build.suffix.lower() == _SUFFIX:
        return read_bench(_text(build), str(build))
    compiled = compiled_within(build, options, terminal)
    with terminal.progress(f"measuring {build.name}"):
        return bench(compiled, True, seed)


def _text(file: Path) -> str:
    """Of a file of bounded size; UsageError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{file}: has more than {_MOST_BYTES >> 20} MiB, a document of `tinygen bench` has less.")
        return content.decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is no text"
        raise UsageError(
            f"{file}: cannot be read ({reason}), a document of `tinygen bench --per-op --json` was expected."
        ) from None
