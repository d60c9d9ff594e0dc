"""What commands find, as values of Python: a line, tables, HTML in notebooks, and the document of `--json`."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from tinygen.report.document import Json, plain_data
from tinygen.report.picture import Picture
from tinygen.report.table import ShownTable

_WIDEST = 1000  # columns


@dataclass(frozen=True, repr=False)
class Result:
    """What was found: `repr` is a line, `str` and notebooks have the command's tables, `to_dict` its document.

    Each kind of result is a dataclass with `repr=False`, whose fields are the document.
    """

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """As the command prints them, the most important one first."""
        raise NotImplementedError

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What numbers look like, for pages and notebooks."""
        return ()

    def to_dict(self) -> dict[str, Json]:
        """The command's `--json`: dictionaries, lists, numbers and texts alone."""
        return plain_data(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.tables[0].line}>"

    def __str__(self) -> str:
        return tables_text(self.tables)

    def _repr_html_(self) -> str:
        drawn = (picture.html for picture in self.pictures if picture.svg is not None)
        return "".join([*(table.html for table in self.tables), *drawn])


class Reported:
    """Something that has a report, and shows and prints as that."""

    @property
    def report(self) -> Result:
        """What is known of it."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Json]:
        """The report's document."""
        return self.report.to_dict()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.report.tables[0].line}>"

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def tables_text(tables: Sequence[ShownTable]) -> str:
    """As a terminal shows them; no line is broken, and none ends with blanks."""
    console = Console(width=_WIDEST, color_system=None)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
