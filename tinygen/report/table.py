"""Tables for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinygen.report.plain import one_line

_FACTS_IN_LINE = 3


@dataclass(frozen=True)
class ShownTable:
    """A table with its title: rich draws it on terminals, and pages have it as HTML."""

    title: str
    columns: tuple[str, ...]  # none: a name and a value a row
    rows: tuple[tuple[str | int, ...], ...]

    def __rich__(self) -> RenderableType:
        """The table as rich draws it, under its title: inside of the table that would wrap at its width."""
        table = Table(show_header=bool(self.columns), box=box.SIMPLE, pad_edge=False)
        if not self.columns:
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
        for column, is_number in zip(self.columns, self._are_numbers, strict=True):
            table.add_column(_cell(column), justify="right" if is_number else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(_cell(_text(cell)) for cell in row))
        return Group(_cell(self.title), table)

    @property
    def line(self) -> str:
        """The title, with the first facts."""
        facts = "" if self.columns else ", ".join(f"{name} {value}" for name, value in self.rows[:_FACTS_IN_LINE])
        return one_line(f"{self.title}: {facts}" if facts else self.title)

    @property
    def html(self) -> str:
        """A `<table>` that needs nothing else."""
        head = _html_row("th", self.columns, self._are_numbers) if self.columns else ""
        are_numbers = self._are_numbers if self.columns else (False, False)
        body = "".join(_html_row("td", row, are_numbers) for row in self.rows)
        return f"<table><caption>{_escaped(self.title)}</caption>{head}{body}</table>"

    @property
    def _are_numbers(self) -> tuple[bool, ...]:
        """Of each column, whether it has numbers alone, which stand to the right."""
        return tuple(
            bool(self.rows) and all(_is_number(row[index]) for row in self.rows) for index in range(len(self.columns))
        )


def facts(title: str, rows: Iterable[tuple[str, str]]) -> ShownTable:
    """Names and values, one a line."""
    return ShownTable(title, (), tuple(rows))


def listing(columns: Sequence[str], rows: Iterable[Sequence[str | int]], title: str) -> ShownTable:
    """Rows under headings; columns of numbers stand to the right."""
    return ShownTable(title, tuple(columns), tuple(map(tuple, rows)))


def _html_row(kind: str, cells: Sequence[str | int], are_numbers: Sequence[bool]) -> str:
    made = (
        f'<{kind} style="text-align:{"right" if is_number else "left"}">{_escaped(_text(cell))}</{kind}>'
        for cell, is_number in zip(cells, are_numbers, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def _escaped(text: str) -> str:
    """For HTML: names in a model are whatever its author wrote."""
    return escape(one_line(text))


def _text(cell: str | int) -> str:
    return count(cell) if isinstance(cell, int) else cell


def _cell(text: str) -> Text:
    return Text(one_line(text))


def _is_number(cell: str | int) -> bool:
    return isinstance(cell, int) or not cell.strip("0123456789,.+-±% ")


def count(number: int | None) -> str:
    """A number with thousands separated; a dash for none."""
    return "-" if number is None else f"{number:,}"


def cycles(number: int | None, band: float | None) -> str:
    """Modelled cycles, with how far silicon may be from them (`docs/cycles.md`); a dash for none."""
    return count(number) if number is None or band is None else f"{count(number)} ± {band:.0%}"


def modelled(band: float | None) -> str:
    """The unit of numbers that are modelled cycles, in titles and headings."""
    return "modelled cycles" if band is None else f"modelled cycles ± {band:.0%}"


def size(number: int | None) -> str:
    """A number of bytes."""
    return "-" if number is None else f"{number:,} bytes"


def shape(dims: Sequence[int]) -> str:
    """A shape such as 1x8x8x1."""
    return "x".join(map(str, dims)) or "scalar"


def short_name(name: str) -> str:
    """The first of the names that a converter joins for a fused operator."""
    first, separator, _ = name.partition(";")
    return f"{first};..." if separator else first
