"""What a command prints: results on stdout, everything else on stderr.

All text goes through here or into a table (`report.table`), and is made fit for terminals there.
"""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tinygen.cli.signals import Terminated
from tinygen.errors import TinygenError
from tinygen.planner.search.search_work import Watch
from tinygen.report.document import encodable, error_text, json_text
from tinygen.report.plain import indented, one_line, shown, shown_json
from tinygen.report.result import tables_text
from tinygen.report.table import ShownTable
from tinygen.tasks.listener import Step

_RATE_OVER_S = 300.0  # the last so many
INTERRUPTED = 130  # exit code of shells for Ctrl-C


class _Rate(ProgressColumn):
    """Steps per second, where steps are counted."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        return Text(f"{task.speed:.3g}/s" if task.speed else "")


class Terminal:
    """One command's way to print; remembers whether the document of --json has been printed."""

    def __init__(self, verbose: bool, quiet: bool, json: bool) -> None:
        self.verbose = verbose
        self.quiet = quiet
        self.json = json
        self._has_document = False

    def result(self, document: object, *tables: ShownTable | str) -> None:
        """The document where --json is given, else the tables."""
        if self.json:
            self._print_document(json_text(document))
        elif not self.quiet:
            for table in tables:
                text = one_line(table) if isinstance(table, str) else tables_text([table])
                sys.stdout.write(f"{text}\n")

    def text(self, text: str) -> None:
        """A result that is plain text."""
        sys.stdout.write(shown(text))

    @property
    def takes_notes(self) -> bool:
        """Whether notes are worth making."""
        return not self.quiet

    def note(self, text: str) -> None:
        """A line beside the result."""
        if self.takes_notes:
            sys.stderr.write(f"{indented(text)}\n")

    def failure(self, error: BaseException) -> int:
        """Show an error; returns the exit code."""
        if isinstance(error, Terminated):
            code, message = error.exit_code, "terminated."
        elif isinstance(error, KeyboardInterrupt):
            code, message = INTERRUPTED, "interrupted."
        elif isinstance(error, TinygenError):
            code, message = error.exit_code, str(error)
        elif isinstance(error, MemoryError):
            code, message = 1, "not enough memory: more was asked for than this machine has."
        elif isinstance(error, OSError) and error.strerror:
            code, message = 1, f"{error.filename or 'system'}: {error.strerror}."
        else:
            code, message = 1, f"internal error ({type(error).__name__}: {error}). Please report it, with the model."
            if self.verbose:
                sys.stderr.write(shown("".join(traceback.format_exception(error))))
        sys.stderr.write(f"tinygen: {indented(message)}\n")
        if self.json and not self._has_document:
            self._print_document(error_text(message, code))
        return code

    @contextmanager
    def progress(self, what: str) -> Iterator[Step]:
        """Shows that work goes on, on a terminal; elsewhere nothing."""
        with self.searching(what) as watch:
            yield lambda done, total: watch("", done, total)

    @contextmanager
    def searching(self, what: str) -> Iterator[Watch]:
        """The same for work that says what it looks for."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            _Rate(),
            TimeRemainingColumn(),
        )
        hidden = self.quiet or not sys.stderr.isatty()
        console = Console(stderr=True)
        with Progress(
            *columns, console=console, transient=True, disable=hidden, speed_estimate_period=_RATE_OVER_S
        ) as bar:
            task = bar.add_task(one_line(what), total=None)

            def show(sought: str, done: int, total: int) -> None:
                said = one_line(f"{what}: {sought}" if sought else what)
                bar.update(task, description=said, completed=done, total=total)

            yield show

    def _print_document(self, text: str) -> None:
        self._has_document = True
        print_document(text)


def print_document(text: str) -> None:
    """A JSON document on stdout, whatever its encoding."""
    sys.stdout.write(f"{encodable(shown_json(text), sys.stdout.encoding or 'utf-8')}\n")
