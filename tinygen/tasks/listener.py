"""Who is told what goes on while a task runs: a terminal, or nobody."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from tinygen.planner.search.search_work import Watch

Step = Callable[[int, int], None]  # done, of how many


class Listener(Protocol):
    """Takes notes, and shows progress."""

    @property
    def takes_notes(self) -> bool:
        """Whether notes are worth making."""

    def note(self, text: str) -> None:
        """A line beside the result."""

    def progress(self, what: str) -> AbstractContextManager[Step]:
        """Work that begins, and ends with the context."""

    def searching(self, what: str) -> AbstractContextManager[Watch]:
        """The same for work that says what it looks for."""


class Silent:
    """Listens to nothing."""

    takes_notes = False

    def note(self, text: str) -> None:
        """Nothing."""

    @contextmanager
    def progress(self, what: str) -> Iterator[Step]:  # noqa: ARG002 - as all listeners
        """Nothing."""
        yield lambda *_: None

    @contextmanager
    def searching(self, what: str) -> Iterator[Watch]:  # noqa: ARG002 - as all listeners
        """Nothing."""
        yield lambda *_: None


SILENT: Listener = Silent()
